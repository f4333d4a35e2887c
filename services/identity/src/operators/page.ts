import { rule } from '@parley/kernel/input';
import { z } from 'zod';

const usual = 50;
const maxEntries = 200;

export const id = z.int32().optional();
export const place = z.int32().check(rule((value) => (value < 0 ? 'must not be negative' : undefined)));
export const first = z
  .int32()
  .check(rule((value) => (value < 0 || value > maxEntries ? `must be between 0 and ${maxEntries}` : undefined)))
  .transform((value) => value || usual);

export interface Paged<Row> {
  rows: Row[];
  /** The id of the page's last row; undefined if no rows follow the page. */
  next: number | undefined;
}

/** Cuts rows to a page. @param rows up to `size` + 1 rows; the additional row shows that another page follows */
export function paged<Row extends { id: number }>(rows: Row[], size: number): Paged<Row> {
  return { rows: rows.slice(0, size), next: rows.length > size ? rows[size - 1]?.id : undefined };
}
