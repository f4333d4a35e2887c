/** How emails compare: trimmed and lower-cased. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** One `@`, no quoting, no comments, a domain with a dot; nothing that could end an address inside a mail's header. */
const shape = /^[^\s\p{C}@<>()[\]\\,;:"]{1,64}@[^\s\p{C}@<>()[\]\\,;:".]+(\.[^\s\p{C}@<>()[\]\\,;:".]+)+$/u;

/** Whether a normal email can be an address at all. Whether somebody reads it, only a mail can tell. */
export function isEmail(normal: string): boolean {
  return normal.length <= 254 && shape.test(normal);
}
