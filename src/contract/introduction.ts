// The first page of the API reference: what a programmer needs before the first call. Markdown, published as the document's description.
export const INTRODUCTION = `
One API for everything that a private cloud runs: machines, networks, addresses, nodes, storage, tenants.

## Sign in

Send an API token as \`Authorization: Bearer gp_…\`. \`npm start\` prints one for the lab; an admin makes others with
\`POST /auth/tokens\`. A token has a role (viewer, operator, admin: each may do what the one before may) and may belong to one
tenant; then it sees and changes that tenant's things alone. Browsers sign in with \`POST /auth/login\` or an identity provider and
carry a session cookie.

## Changes and waiting

A short change answers when it is done. A long one answers **202** with the id of a job; follow it with \`GET /jobs/{id}\` or on
\`GET /events/sse\`, or send \`Prefer: wait=60\` and get the final answer if it is there within that many seconds. Every change answers
with \`X-Correlation-Id\`: the id under which its event, its job and its lines of the audit are found. A job survives a crash of the
service: another replica goes on where it stopped.

## Sending a change twice

Send \`Idempotency-Key: <up to 255 characters of your own>\` with every POST that makes something. The same key with the same body
gets the first answer again, for 24 hours, also after a lost connection and from another replica; with another body it gets **409**.

## Errors

An error is \`application/problem+json\`: \`code\` for programs (the list is in the error reference), \`detail\` for people: it names the thing, the
value and what would do, \`errors\` the fields that are wrong (20 at most), \`request_id\` for the log. The address-management
routes (\`/ddi\`) answer \`{success: false, message, code}\` instead. A subsystem that is down or talks nonsense gives 500 with a code
that names it. **429** and **503** carry \`Retry-After\`.

## Lists

Lists take \`page\` (from 1) and \`page_size\` (50; at most 500) and answer \`count\` for all pages. Not known is \`null\` with a reason beside it,
never 0 or an empty text.

## Streams

\`GET /events/sse\` is one stream of server-sent events for everything that happens. Keep the last \`id\` and send it as
\`Last-Event-ID\` when you connect again: what was missed comes first, each message once. Browsers, which cannot set headers
there, get a ticket from \`POST /auth/tickets\` and send it as \`?ticket=\`.

## Trying without doing

Operations that list the parameter take \`?dry_run=true\`: all checks, no effect, and the plan as the answer.
`
