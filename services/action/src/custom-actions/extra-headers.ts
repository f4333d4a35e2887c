import { isJsonObject } from '@parley/kernel/json';
import { headerProblem } from '@parley/outbound/header-problem';
import { z } from 'zod';

const maxHeaders = 32;
const maxBytes = 8_192;
const maxNameLength = 100;

/** Validates a map of header names to values; an empty map becomes null. Problems name the header, never its value. */
export const extraHeaders = z
  .unknown()
  .check(checkHeaders)
  .transform((given) => {
    const headers = { ...(given as Record<string, string> | null) };
    return Object.keys(headers).length > 0 ? headers : null;
  });

function checkHeaders({ value, issues }: z.core.ParsePayload): void {
  const refuse = (message: string, ...path: string[]) => issues.push({ code: 'custom', message, input: value, path });
  if (value === null) return;
  if (!isJsonObject(value)) return void refuse('must be an object of header names and texts');
  const entries = Object.entries(value);
  if (entries.length > maxHeaders) return void refuse(`must have at most ${maxHeaders} headers`);
  const seen = new Set<string>();
  let bytes = 0;
  for (const [name, text] of entries) {
    // The path of a problem contains the header's name only if the name is valid.
    const nameProblem = headerNameProblem(name);
    if (nameProblem) {
      refuse(nameProblem);
      continue;
    }
    if (typeof text !== 'string') refuse('must be text', name);
    else {
      const problem = headerProblem(name, text);
      if (problem) refuse(problem, name);
      bytes += name.length + text.length;
    }
    const lower = name.toLowerCase();
    if (seen.has(lower)) refuse('must not be given twice, in upper and lower case', name);
    seen.add(lower);
  }
  if (bytes > maxBytes) refuse(`must have at most ${maxBytes} bytes`);
}

/** Returns why a text is not a valid header name, as the end of the sentence "<path> …"; undefined if the name is valid. */
export function headerNameProblem(name: string): string | undefined {
  if (name.length > maxNameLength) return `must have at most ${maxNameLength} characters`;
  return headerProblem(name, '');
}
