export function normalEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** One `@`, no quoting or comments, a domain with a dot, and no character that could inject mail headers. */
const shape = /^[^\s\p{C}@<>()[\]\\,;:"]{1,64}@[^\s\p{C}@<>()[\]\\,;:".]+(\.[^\s\p{C}@<>()[\]\\,;:".]+)+$/u;

export function isEmail(normal: string): boolean {
  return normal.length <= 254 && shape.test(normal);
}
