/** Answers of a simulated BMC, errors in the form of Redfish included. */
export type Document = Record<string, unknown>

export interface Reply {
  status: number
  headers?: Record<string, string>
  body?: unknown
}

/** Thrown wherever a request is refused. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly reply: Reply
  constructor(
    status: number,
    id: string,
    text: string,
    options: { severity?: string; headers?: Record<string, string> } = {},
  ) {
    super(text)
    this.reply = {
      status,
      ...(options.headers === undefined ? {} : { headers: options.headers }),
      body: {
        error: {
          code: 'Base.1.12.GeneralError',
          // As a vendor writes it: useless without what stands beside it.
          message: 'A general error has occurred. See ExtendedInfo for more information.',
          '@Message.ExtendedInfo': [
            {
              '@odata.type': '#Message.v1_1_0.Message',
              MessageId: id,
              Message: text,
              MessageArgs: [],
              Severity: options.severity ?? 'Critical',
              Resolution: 'No response action is required.',
              RelatedProperties: [],
            },
          ],
        },
      },
    }
  }
}

export const notFound = (path: string): Refused =>
  new Refused(404, 'Base.1.12.ResourceMissingAtURI', `The resource at the URI ${path} was not found.`)

export function textOf(body: Document, name: string): string {
  const value = body[name]
  if (typeof value === 'string' && value !== '') return value
  throw new Refused(400, 'Base.1.12.ActionParameterMissing', `The parameter ${name} is missing.`)
}
