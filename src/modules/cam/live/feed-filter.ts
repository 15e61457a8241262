// The feed of topics is read only: the NVR would take what a client sends for an order, up to a restart.
import type { SocketFilter } from '#src/contract/answers.ts'

export const feedFilter: SocketFilter = {
  fromClient: () => undefined,
  fromUpstream: (data, is_binary) => (is_binary ? undefined : data),
}
