// What a client of the NVR is made of.
import type { UpstreamTls } from '#src/contract/answers.ts'

/** Where the NVR is and how it is known. */
export interface NvrSettings {
  /** `https://192.0.2.7:8971` */
  origin: string
  tls: UpstreamTls
  password: string
}

/** What is reported of each call: its operation, how long it took, and how it ended. */
export type Observe = (operation: string, seconds: number, outcome: string) => void
