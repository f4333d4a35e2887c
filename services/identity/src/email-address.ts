/** Trims and lower-cases an email for comparison and storage. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** One `@`, no quoting or comments, a domain with a dot, and no character that could inject mail headers. */
const shape = /^[^\s\p{C}@<>()[\]\\,;:"]{1,64}@[^\s\p{C}@<>()[\]\\,;:".]+(\.[^\s\p{C}@<>()[\]\\,;:".]+)+$/u;

/** Whether a normalized email is syntactically valid. */
export function isEmail(normal: string): boolean {
  return normal.length <= 254 && shape.test(normal);
}
