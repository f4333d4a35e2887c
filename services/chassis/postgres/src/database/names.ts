/** The column of a field: `personaPrompt` is `persona_prompt`. A name without capitals stays as it is. */
export const columnOf = cached((field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

/** The field of a column, so that `columnOf` leads back to it. A name without underscores stays as it is. */
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
