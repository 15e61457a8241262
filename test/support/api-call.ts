// One HTTP request as a program or a browser sends it, and its answer as plain values.
export interface CallOptions {
  token?: string
  /** `name=value` pairs as a browser keeps them. */
  cookie?: string
  headers?: Record<string, string>
  body?: unknown
}

export interface CallAnswer {
  status: number
  body: Record<string, unknown>
  headers: Headers
  /** Cookies set by the answer, by name. */
  cookies: Map<string, { value: string; attributes: string }>
}

export async function call(base: string, method: string, path: string, options: CallOptions = {}): Promise<CallAnswer> {
  const response = await fetch(new URL(path, base), {
    method,
    redirect: 'manual',
    signal: AbortSignal.timeout(20_000),
    headers: {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...(options.cookie === undefined ? {} : { cookie: options.cookie }),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  })
  const text = await response.text()
  const json = (response.headers.get('content-type') ?? '').includes('json')
  const cookies = response.headers.getSetCookie().map((line) => {
    const [pair = '', ...rest] = line.split('; ')
    const [name = '', value = ''] = pair.split('=')
    return [name, { value, attributes: rest.join('; ') }] as const
  })
  const body: unknown = json ? JSON.parse(text) : { text }
  if (typeof body !== 'object' || body === null) throw new Error(`${method} ${path} answered no object`)
  return { status: response.status, body: { ...body }, headers: response.headers, cookies: new Map(cookies) }
}
