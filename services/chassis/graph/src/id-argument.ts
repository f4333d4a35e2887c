/** Ids are positive 32-bit integers. */
export const maxId = 2_147_483_647;

/** What an `ID` argument names; undefined when it is no id, and so one that is not there. */
export function idArgument(id: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(id)) return undefined;
  const number = Number(id);
  return number <= maxId ? number : undefined;
}
