// The one row of the NVR and the cameras that were configured on it. Passwords, keys and stream addresses are encrypted here and
// nowhere else.
import { type Selectable, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import { type CamInstance, NVR_STATES } from '#src/contract/cam/instance.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import type { Publish } from './app-events.ts'
import type { Database, Db, Trx } from './database.ts'
import { ASSOCIATED_DATA } from './encrypted-places.ts'
import type { Tables } from './tables.ts'

export type NvrState = CamInstance['state']

/** The row with its secrets decrypted. */
export type CamInstanceRow = Omit<Selectable<Tables['cam_instance']>, 'singleton' | 'state'> & { state: NvrState }

export type CamInstanceOrder = Pick<
  CamInstanceRow,
  | 'id'
  | 'name'
  | 'cores'
  | 'memory_mb'
  | 'gpu_count'
  | 'vgpu_profile_id'
  | 'recording_disk_gb'
  | 'network_id'
  | 'camera_ip'
> &
  Partial<Pick<CamInstanceRow, 'job_id' | 'zone_id'>>
export type CamInstanceChange = Partial<Omit<CamInstanceRow, 'id' | 'created_at' | 'changed_at'>>

const CameraLogin = Type.Object({
  username: Type.String(),
  password: Type.String(),
  main_stream_url: Type.String(),
  sub_stream_url: Type.String(),
  audio_stream_url: Type.String(),
})
export type CameraLogin = Static<typeof CameraLogin>
export type CamCameraRow = Omit<Selectable<Tables['cam_camera']>, 'login'> & { login: CameraLogin }

/** What is encrypted in the row. */
const SECRETS = ['admin_password', 'next_admin_password', 'server_key'] as const

export interface CamStore {
  /** Undefined: there is no NVR. */
  instance(db?: Db): Promise<CamInstanceRow | undefined>
  /** False: there is one already. */
  create(trx: Trx, order: CamInstanceOrder): Promise<boolean>
  /**
   * A change of the state is announced on the stream. `seen`: the row that the change was concluded from. False: there is no such
   * instance, or somebody changed it since it was read.
   */
  change(id: string, change: CamInstanceChange, seen?: CamInstanceRow): Promise<boolean>
  /** The same as a part of a transaction. */
  changeIn(trx: Trx, publish: Publish, id: string, change: CamInstanceChange): Promise<boolean>
  delete(trx: Trx, id: string): Promise<void>
  cameras(db?: Db): Promise<CamCameraRow[]>
  saveCamera(trx: Trx, camera: Omit<CamCameraRow, 'created_at'>): Promise<void>
  deleteCamera(trx: Trx, id: string): Promise<void>
}

export function createCamStore(database: Database, keyring: Keyring): CamStore {
  const secrets = secretsOf(keyring)
  return {
    async instance(db = database.db) {
      const row = await db.selectFrom('cam_instance').selectAll().executeTakeFirst()
      return row === undefined ? undefined : secrets.decryptRow(row)
    },
    async create(trx, order) {
      const { numInsertedOrUpdatedRows = 0n } = await trx
        .insertInto('cam_instance')
        .values({ ...order, state: 'provisioning' })
        .onConflict((conflict) => conflict.column('singleton').doNothing())
        .executeTakeFirst()
      return numInsertedOrUpdatedRows > 0n
    },
    change: (id, change, seen) =>
      database.transact((trx, publish) => changeIn(trx, publish, id, secrets.encrypted(change), seen)),
    changeIn: (trx, publish, id, change) => changeIn(trx, publish, id, secrets.encrypted(change)),
    delete: async (trx, id) => {
      await trx.deleteFrom('cam_camera').execute()
      await trx.deleteFrom('cam_instance').where('id', '=', id).execute()
    },
    async cameras(db = database.db) {
      const rows = await db.selectFrom('cam_camera').selectAll().orderBy('created_at').orderBy('id').execute()
      return rows.map((row) => ({ ...row, login: secrets.decryptLogin(row.id, row.login) }))
    },
    async saveCamera(trx, camera) {
      const row = { ...camera, login: secrets.encryptLogin(camera.id, camera.login) }
      const { id: _id, ...rest } = row
      await trx
        .insertInto('cam_camera')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doUpdateSet(rest))
        .execute()
    },
    deleteCamera: async (trx, id) => void (await trx.deleteFrom('cam_camera').where('id', '=', id).execute()),
  }
}

async function changeIn(
  trx: Trx,
  publish: Publish,
  id: string,
  change: CamInstanceChange,
  seen?: CamInstanceRow,
): Promise<boolean> {
  const before = await trx
    .selectFrom('cam_instance')
    .select(['state', 'changed_at'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (before === undefined) return false
  if (seen !== undefined && before.changed_at.getTime() !== seen.changed_at.getTime()) return false
  const row = await trx
    .updateTable('cam_instance')
    .set({ ...change, changed_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(['id', 'name', 'state', 'error_message', 'changed_at'])
    .executeTakeFirstOrThrow()
  if (row.state === before.state) return true
  const { name, state, error_message, changed_at } = row
  const data = { id, name, old_state: before.state, new_state: state, error_message, at: changed_at.toISOString() }
  publish({ channel: 'camera', type: 'nvr-state', tenant_id: null, data })
  return true
}

function secretsOf(keyring: Keyring) {
  const cam = ASSOCIATED_DATA.cam_instance
  return {
    decryptRow({ singleton: _singleton, ...row }: Selectable<Tables['cam_instance']>): CamInstanceRow {
      const plain = SECRETS.map((name) => [name, row[name] === null ? null : keyring.decrypt(row[name], cam)] as const)
      return { ...row, ...Object.fromEntries(plain), state: stateOf(row.state) }
    },
    encrypted(change: CamInstanceChange): CamInstanceChange {
      const hidden = SECRETS.filter((name) => typeof change[name] === 'string').map(
        (name) => [name, keyring.encrypt(change[name] ?? '', cam)] as const,
      )
      return { ...change, ...Object.fromEntries(hidden) }
    },
    decryptLogin: (id: string, text: string): CameraLogin =>
      Value.Parse(CameraLogin, JSON.parse(keyring.decrypt(text, ASSOCIATED_DATA.cam_camera(id)))),
    encryptLogin: (id: string, login: CameraLogin): string =>
      keyring.encrypt(JSON.stringify(login), ASSOCIATED_DATA.cam_camera(id)),
  }
}

function stateOf(text: string): NvrState {
  const state = NVR_STATES.find((name) => name === text)
  if (state === undefined) throw new Error(`the database holds an unknown state of the NVR: ${text}`)
  return state
}
