import { notFound } from './errors.ts';

const maxId = 2 ** 31 - 1;

/** Returns the id as a number; undefined if no row can have this id. */
export function parseId(id: string | number): number | undefined {
  const number = typeof id === 'number' ? id : /^[1-9]\d{0,9}$/.test(id) ? Number(id) : Number.NaN;
  return Number.isInteger(number) && number > 0 && number <= maxId ? number : undefined;
}

/**
 * Returns the id as a number.
 * @param what names the kind of entity in the error.
 * @throws DomainError `notFound` if no row can have this id
 */
export function requireId(what: string, id: string | number): number {
  const number = parseId(id);
  if (number === undefined) throw notFound(what, id);
  return number;
}
