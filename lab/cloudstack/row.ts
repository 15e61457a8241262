/** What every kind of record is made of. */

export type Json = string | number | boolean | null | Json[] | { [field: string]: Json | undefined }

/** A record kept in the shape in which it is answered. */
export interface Row {
  id: string
  [field: string]: Json | undefined
}

export interface Owned {
  accountid: string
  projectid: string | null
}
