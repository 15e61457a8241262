// Kinds of columns that many tables have.
import type { ColumnType, JSONColumnType } from 'kysely'

/** A time: read as Date, written as Date or left to the database clock. */
export type Time = ColumnType<Date, Date | string | undefined, Date | string>
export type NullableTime = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
export type Json<T extends object | null> = JSONColumnType<T, string, string>
