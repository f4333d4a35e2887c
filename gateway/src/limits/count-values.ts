/** Whether a value of JSON holds more than so many others, at whatever depth; it stops to count there. */
export function holdsMoreThan(max: number, value: unknown): boolean {
  return remaining(value, max) < 0;
}

function remaining(value: unknown, left: number): number {
  if (typeof value !== 'object' || value === null) return left;
  let rest = left;
  for (const key in value) {
    rest = remaining(Reflect.get(value, key), rest - 1);
    if (rest < 0) break;
  }
  return rest;
}
