// A small HTTP caller for tests: status, headers and parsed body of whatever comes back.
export interface Reply {
  status: number
  headers: Headers
  text: string
  // Tests look into answers of every shape.
  // biome-ignore lint: answers are asserted field by field
  body: any // oxlint-disable-line typescript/no-explicit-any -- answers are asserted field by field
}

export interface CallOptions {
  token?: string | null
  headers?: Record<string, string>
  signal?: AbortSignal
}

export type Caller = (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<Reply>

export function callerFor(url: string, token: string): Caller {
  return async (method, path, body, options = {}) => {
    const headers: Record<string, string> = { ...options.headers }
    const bearer = options.token === undefined ? token : options.token
    if (bearer !== null) headers.authorization = `Bearer ${bearer}`
    if (body !== undefined) headers['content-type'] ??= 'application/json'
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      redirect: 'manual',
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
    const text = await response.text()
    const json = response.headers.get('content-type')?.includes('json') === true
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: json && text !== '' ? JSON.parse(text) : null,
    }
  }
}
