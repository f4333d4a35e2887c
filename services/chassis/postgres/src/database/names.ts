/** Returns the column of a field: `persona_prompt` for `personaPrompt`. A name without capitals is returned unchanged. */
export const columnOf = cached((field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

/** Returns the field of a column, the inverse of `columnOf`. A name without underscores is returned unchanged. */
export const fieldOf = cached((column) => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));

/** Caches without a limit, because the names come from code. */
function cached(map: (name: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const mapped = known.get(name) ?? map(name);
    known.set(name, mapped);
    return mapped;
  };
}
