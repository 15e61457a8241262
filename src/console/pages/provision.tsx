// A new virtual machine: what it is made of by name, the rest of the contract's fields folded away, and beside it what will happen.
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { callAny, CallError, type FieldError } from '../api/call.ts'
import { objectFields } from '../api/contract.ts'
import { useCall } from '../api/queries.ts'
import { useDetails } from '../api/details.ts'
import { whyNot } from '../api/why-not.ts'
import { Choice, type Option } from '../form/choice.tsx'
import { useDraft, withoutSecrets } from '../form/draft.ts'
import { Fields } from '../form/fields.tsx'
import { Problem } from '../form/problem.tsx'
import { type Texts, valuesOf } from '../form/values.ts'
import { amount } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { Loaded } from './panel.tsx'
import { ProvisionPlan } from './provision-plan.tsx'

/** Of refusals that name no field. */
const FIELD_OF: Readonly<Record<string, string>> = {
  CAPACITY_EXCEEDED: 'service_offering_id',
  QUOTA_EXCEEDED: 'service_offering_id',
}
const PAGE = { page_size: 500 }

export function ProvisionPage() {
  const [{ like }] = [Object.fromEntries(useSearchParams()[0])]
  const model = useCall('vmGet', { body: { virtual_machine_id: like ?? '' } }, like !== undefined)
  return (
    <>
      <h1>New virtual machine</h1>
      {like === undefined ? (
        <ProvisionForm given={{}} />
      ) : (
        <Loaded query={model}>
          {(machine) => (
            <>
              <p>Like {machine.name}; its disks and addresses are not copied.</p>
              <ProvisionForm given={textsLike(machine)} />
            </>
          )}
        </Loaded>
      )}
    </>
  )
}

function textsLike({ zone_id, template_id, service_offering_id, nics, group }: VirtualMachine): Texts {
  return {
    zone_id: zone_id ?? '',
    template_id: template_id ?? '',
    service_offering_id: service_offering_id ?? '',
    network_ids: nics.flatMap(({ network_id }) => network_id ?? []).join('\n'),
    group: group ?? '',
  }
}

function ProvisionForm({ given }: { given: Texts }) {
  const me = useMe()
  const why = whyNot(me, 'vmProvision')
  const [, go] = useLocation()
  const { details, error } = useDetails('vmProvision')
  const draft = useDraft<Texts>(me.username)
  const [texts, setTexts] = useState<Texts>(draft.before?.typed ?? given)
  const [problem, setProblem] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  // A second click, or an answer that was lost, makes no second machine.
  const [key, setKey] = useState(() => draft.before?.key ?? crypto.randomUUID())
  const form = useRef<HTMLFormElement>(null)
  const fields = objectFields(details?.body) ?? {}
  const change = (name: string, text: string): void => {
    setTexts((before) => ({ ...before, [name]: text }))
    setKey(crypto.randomUUID())
  }
  useEffect(() => {
    if (details !== undefined && texts !== given) draft.store({ typed: withoutSecrets(details.body, texts), key })
  }, [details, texts, key])
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (why !== null || busy || details === undefined) return
    setBusy(true)
    try {
      const answer = (await callAny('vmProvision', { body: valuesOf(fields, texts) }, { key })) as { job_id?: string }
      go(answer.job_id === undefined ? '/vms' : `/jobs/${answer.job_id}`)
    } catch (refusal) {
      setProblem(refusal)
      setBusy(false)
    }
  }
  useEffect(() => {
    if (problem !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [problem])
  const errors = errorsOf(problem)
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !CHOSEN.includes(name)))
  return (
    <div className="beside">
      <form ref={form} className="operation" onSubmit={(event) => void submit(event)} noValidate>
        {why !== null && <p role="status">{why}</p>}
        {error !== undefined && <Problem error={error} />}
        {problem !== undefined && <Problem error={problem} />}
        <Ingredients texts={texts} change={change} errors={errors} />
        {details !== undefined && (
          <Fields fields={rest} required={['name']} texts={texts} change={change} errors={errors} />
        )}
        <div className="buttons">
          <button type="submit" className="primary" aria-disabled={why !== null || busy || details === undefined}>
            Create
          </button>
        </div>
      </form>
      <ProvisionPlan texts={texts} />
    </div>
  )
}

const CHOSEN = ['zone_id', 'template_id', 'service_offering_id', 'network_ids', 'disk_offering_id']

function errorsOf(problem: unknown): FieldError[] {
  if (!(problem instanceof CallError)) return []
  const about = FIELD_OF[problem.code]
  return about === undefined ? [...problem.fields] : [{ path: `body.${about}`, message: problem.message }]
}

interface IngredientsProps {
  texts: Texts
  change(name: string, text: string): void
  errors: readonly FieldError[]
}

function Ingredients({ texts, change, errors }: IngredientsProps) {
  const zones = useCall('zoneList', { query: PAGE }).data?.zones
  const zone_id = texts.zone_id ?? ''
  const in_zone = { zone_id, ...PAGE }
  const known = zone_id !== ''
  const templates = useCall('templateList', { query: in_zone }, known).data?.templates
  const offerings = useCall('serviceOfferingList', { query: PAGE }).data?.service_offerings
  const networks = useCall('guestNetworkList', { body: { ...in_zone, can_use_for_deploy: true } }, known).data
  const disks = useCall('diskOfferingList', { body: in_zone }, known).data?.disk_offerings
  // Where there is one zone, nobody has to say so.
  const only = zones?.length === 1 ? zones[0]?.id : undefined
  useEffect(() => {
    if (only !== undefined && !known) change('zone_id', only)
  }, [only, known])
  const choice = (name: string, label: string, options: readonly Option[] | undefined, required = false) => (
    <Choice
      {...{ name, label, required }}
      options={options ?? []}
      value={texts[name] ?? ''}
      change={(value) => change(name, value)}
      error={errors.find(({ path }) => path.split('.').includes(name))?.message}
    />
  )
  return (
    <>
      {choice(
        'zone_id',
        'Zone',
        zones?.map(({ id, name }) => ({ id, name })),
        true,
      )}
      {choice(
        'template_id',
        'Template',
        templates?.filter(({ is_ready }) => is_ready !== false),
      )}
      {choice(
        'service_offering_id',
        'Offering',
        offerings?.map(({ id, name, cpu_cores, memory_mb }) => ({
          id,
          name: `${name}: ${cpu_cores ?? 'any'} cores, ${memory_mb === null ? 'any memory' : amount('memory_mb', memory_mb)}`,
        })),
        true,
      )}
      <fieldset>
        <legend>Networks</legend>
        {networks?.guest_networks.map(({ id, name, cidr }) => {
          const chosen = (texts.network_ids ?? '').split('\n').filter((one) => one !== '')
          return (
            <label key={id} className="inline">
              <input
                type="checkbox"
                checked={chosen.includes(id)}
                onChange={({ target }) =>
                  change(
                    'network_ids',
                    (target.checked ? [...chosen, id] : chosen.filter((one) => one !== id)).join('\n'),
                  )
                }
              />
              {name} {cidr}
            </label>
          )
        })}
        {networks?.guest_networks.length === 0 && <p className="help">The zone has no network for machines.</p>}
      </fieldset>
      {choice('disk_offering_id', 'Data disk', disks)}
    </>
  )
}
