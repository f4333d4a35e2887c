import type { ActionFields } from './custom-action.ts';
import { placeholdersOf } from './url-template.ts';

/** The JSON Schema that describes an action's arguments to a model: the tenant's, which is made to require what the URL needs. */
export function describedArgs({ argsSchema, url }: Pick<ActionFields, 'argsSchema' | 'url'>): Record<string, unknown> {
  const names = placeholdersOf(url);
  const given = argsSchema ?? { type: 'object', properties: Object.fromEntries(names.map((name) => [name, {}])) };
  const required = Array.isArray(given['required']) ? (given['required'] as unknown[]) : [];
  const all = [...new Set([...required, ...names])];
  return { ...given, type: 'object', ...(all.length > 0 && { required: all }) };
}
