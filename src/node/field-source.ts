// Where a field of an answer comes from, as data: a collector declares its fields, a test holds it to them, and the
// reference table is made from the same rows.

export interface FieldSource {
  /** Name of the field in the answer. */
  field: string
  /** File, command or rule that gives it. */
  source: string
  /** When the field is null; left out when it is always known. */
  unavailable_when?: string
}
