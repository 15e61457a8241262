// Templates and ISO images: the same operations under other names of the platform.
import type { images } from '#src/contract/compute/images.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { changeAndVerify, makeAndVerify } from '#src/drivers/cloudstack/lost-call.ts'
import { given, type Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type Effect, recordOperation } from '../operation.ts'
import { type PlatformDeps, submitDestruction } from '../platform-rows.ts'
import { checkImageUrl } from './image-url.ts'
import { imageOf, templateOf } from './image-view.ts'
import { machinesWith } from './in-use.ts'
import { isUsableImage, readImage } from './ownership.ts'
import { ownerOf } from './vm-owner.ts'

type Routes = typeof images.routes
type In<Op extends keyof Routes> = Input<Routes[Op]>

interface Kind {
  /** In messages. */
  word: string
  resource_type: string
  thing: 'template' | 'iso'
  list: string
  filter: string
  register: string
  update: string
  remove: string
  /** Filter of machines that have one. */
  used_by: string
}

const TEMPLATE: Kind = {
  word: 'template', resource_type: 'TEMPLATE', thing: 'template', list: 'listTemplates', filter: 'templatefilter',
  register: 'registerTemplate', update: 'updateTemplate', remove: 'deleteTemplate', used_by: 'templateid',
} // biome-ignore format: one record
const ISO: Kind = {
  word: 'ISO image', resource_type: 'ISO', thing: 'iso', list: 'listIsos', filter: 'isofilter',
  register: 'registerIso', update: 'updateIso', remove: 'deleteIso', used_by: 'isoid',
} // biome-ignore format: one record

/** The caller waits. */
const PATIENCE = { patience_ms: 10_000 }

export function imageHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const [deleteTemplate, deleteIso] = [deletion(deps, TEMPLATE), deletion(deps, ISO)]
  return {
    templateRegister: async ({ body }, ctx) => {
      const { format = 'QCOW2', hypervisor = 'KVM' } = body
      checkImageUrl(body.url, format)
      const args = {
        ostypeid: body.os_type_id,
        format,
        hypervisor,
        passwordenabled: body.password_enabled,
        sshkeyenabled: body.ssh_key_enabled,
        requireshvm: body.requires_hvm,
        isdynamicallyscalable: body.dynamically_scalable,
      }
      return register(deps, TEMPLATE, { body, args, read: templateOf }, ctx)
    },
    templateUpdate: ({ body }, ctx) => update(deps, TEMPLATE, { ...body, id: body.template_id, read: templateOf }, ctx),
    templateDelete: ({ body }, ctx) => deleteTemplate({ id: body.template_id }, ctx),
    isoRegister: async ({ body }, ctx) => {
      checkImageUrl(body.url, 'ISO')
      if (body.bootable !== false && body.os_type_id === undefined)
        throw invalidField('body.os_type_id', 'is needed unless bootable is false')
      return register(
        deps,
        ISO,
        { body, args: { ostypeid: body.os_type_id, bootable: body.bootable }, read: imageOf },
        ctx,
      )
    },
    isoUpdate: ({ body }, ctx) => update(deps, ISO, { ...body, id: body.iso_id, read: imageOf }, ctx),
    isoDelete: ({ body }, ctx) => deleteIso({ id: body.iso_id }, ctx),
  }
}

interface Registration<T> {
  body: In<'isoRegister'>['body'] | In<'templateRegister'>['body']
  /** Of the kind. */
  args: Args
  read: (row: Raw) => T
}

async function register<T>(
  deps: PlatformDeps,
  kind: Kind,
  { body, args, read }: Registration<T>,
  ctx: RequestContext,
): Promise<T> {
  const { cloudstack } = deps
  const { name, display_text = name, url, zone_id, checksum, is_public } = body
  if (is_public === true && ctx.caller.tenant_id !== null) {
    throw new ApiError(
      'TENANT_SCOPE',
      `A caller of tenant ${ctx.caller.tenant_id} cannot share ${kind.word}s with other tenants; leave \`is_public\` out.`,
    )
  }
  const owner = await ownerOf(cloudstack, body, ctx)
  const subject = {
    resource_id: null,
    resource_name: name,
    tenant_id: textOf(owner, 'domainid') ?? ctx.caller.tenant_id,
    description: `Registering ${kind.word} ${name}.`,
    done: `Registered ${kind.word} ${name}; the platform downloads it.`,
  }
  return recordOperation(deps, ctx, kind.resource_type, subject, async () => {
    const { traceparent } = ctx
    const sent = {
      name,
      displaytext: display_text,
      url,
      zoneid: zone_id,
      checksum,
      ispublic: is_public,
      ...args,
      ...owner,
    }
    const listing = { command: kind.list, key: kind.thing, args: { name, [kind.filter]: 'all', listall: true } }
    const made: Postcondition = { thing: kind.thing, args: { id: '$id' }, expect: { name } }
    // The caller leaving does not stop a change half-way.
    const id = await makeAndVerify(
      cloudstack,
      listing,
      made,
      PATIENCE,
      async () => rowsOf(await cloudstack.call(kind.register, sent, { traceparent }), kind.thing)[0],
    )
    return read(oneOf(await rowsById(deps, kind, id), id, zone_id))
  })
}

async function update<T>(
  deps: PlatformDeps,
  kind: Kind,
  { id, name, display_text, read }: { id: string; name?: string; display_text?: string; read: (row: Raw) => T },
  ctx: RequestContext,
): Promise<T> {
  const { cloudstack } = deps
  if (name === undefined && display_text === undefined) throw invalidField('body', 'names nothing to change')
  const row = oneOf(await ownRows(deps, kind, id, ctx), id)
  const before = textOf(row, 'name') ?? id
  const subject = {
    resource_id: id,
    resource_name: name ?? before,
    tenant_id: textOf(row, 'domainid'),
    description: `Updating ${kind.word} ${before}.`,
    done: name === undefined ? `Updated ${kind.word} ${before}.` : `${before} is ${kind.word} ${name} now.`,
  }
  return recordOperation(deps, ctx, kind.resource_type, subject, async () => {
    const { traceparent } = ctx
    const expect = given({ name, displaytext: display_text })
    const changed: Postcondition = { thing: kind.thing, args: { id }, expect }
    await changeAndVerify(cloudstack, changed, PATIENCE, () =>
      cloudstack.call(kind.update, { id, name, displaytext: display_text }, { traceparent }),
    )
    return read(oneOf(await rowsById(deps, kind, id), id))
  })
}

function deletion(deps: PlatformDeps, kind: Kind) {
  return submitDestruction(deps, async ({ id }: { id: string }, ctx: RequestContext) => {
    const rows = await unusedRows(deps, kind, id, ctx)
    const [row] = rows
    const name = textOf(row, 'name') ?? id
    return {
      command: kind.remove,
      args: { id },
      postcondition: { thing: kind.thing, args: { id }, expect: {}, gone: true },
      resource_type: kind.resource_type,
      subject: {
        resource_id: id,
        resource_name: name,
        tenant_id: textOf(row, 'domainid'),
        description: `Deleting ${kind.word} ${name}.`,
        done: `Deleted ${kind.word} ${name}.`,
        would: () => effectOfDeletion(kind, name, rows),
      },
    }
  })
}

/** An image has one row for each zone. */
function effectOfDeletion(kind: Kind, name: string, rows: Rows): Effect {
  const zones = new Map(rows.map((row) => [textOf(row, 'zoneid'), textOf(row, 'zonename') ?? '']))
  const where = [...zones.values()].join(', ')
  return {
    message: `Would delete ${kind.word} ${name}${where === '' ? '' : ` in ${where}`}.`,
    affected: [...zones].map(([id, zone]) => ({ kind: 'zone', id, name: zone })),
  }
}

type Rows = [Raw, ...Raw[]]

/** The platform would refuse it too, but name machines of others. */
async function unusedRows(deps: PlatformDeps, kind: Kind, id: string, ctx: RequestContext): Promise<Rows> {
  const rows = await ownRows(deps, kind, id, ctx)
  const users = await machinesWith(deps.cloudstack, { [kind.used_by]: id }, ctx)
  if (users === undefined) return rows
  const way = kind === ISO ? 'detach it there first' : 'delete or restore them from another one first'
  throw new ApiError('IMAGE_IN_USE', `${capital(kind.word)} ${textOf(rows[0], 'name')} is used by ${users}; ${way}.`)
}

/** What the caller may change: a shared one is its owner's, and the platform's own are nobody's. */
async function ownRows(deps: PlatformDeps, kind: Kind, id: string, ctx: RequestContext): Promise<Rows> {
  const { tenant_id } = ctx.caller
  const rows = (await rowsById(deps, kind, id)).filter((row) => isUsableImage(row, tenant_id))
  const [first, ...others] = rows
  if (first === undefined) throw new ApiError('RESOURCE_NOT_FOUND', `${capital(kind.word)} ${id} not found.`)
  const name = textOf(first, 'name')
  if (tenant_id !== null && textOf(first, 'domainid') !== tenant_id)
    throw new ApiError(
      'TENANT_SCOPE',
      `${capital(kind.word)} ${name} is shared by another tenant, and its owner alone changes it.`,
    )
  if (/^(SYSTEM|ROUTING|PERHOST)$/.test(textOf(first, 'templatetype') ?? ''))
    throw new ApiError('COMPUTE_REJECTED', `${capital(kind.word)} ${name} is one that the platform itself needs.`)
  return [first, ...others]
}

function rowsById({ cloudstack }: PlatformDeps, kind: Kind, id: string): Promise<Raw[]> {
  return readImage(cloudstack, kind.list, kind.thing, { id, [kind.filter]: 'all' })
}

/** Of the zone, where it is in several. */
function oneOf(rows: readonly Raw[], id: string, zone_id?: string): Raw {
  const row = rows.find((one) => textOf(one, 'zoneid') === zone_id) ?? rows[0]
  if (row === undefined)
    throw new ApiError('COMPUTE_ERROR', `The compute platform took image ${id}, but does not list it any more.`)
  return row
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
