export const maxId = 2_147_483_647;

/** An `ID` argument as a number; undefined where it cannot be the id of anything. */
export function idArgument(id: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(id)) return undefined;
  const number = Number(id);
  return number <= maxId ? number : undefined;
}
