import type { ActionFields } from './custom-action.ts';
import { placeholdersOf } from './url-template.ts';

/**
 * Returns the JSON Schema of an action's arguments for a model. It is the tenant's schema, in which the URL's placeholders are required
 * properties.
 */
export function describedArgs({ argsSchema, url }: Pick<ActionFields, 'argsSchema' | 'url'>): Record<string, unknown> {
  const names = placeholdersOf(url);
  const given = argsSchema ?? { type: 'object', properties: Object.fromEntries(names.map((name) => [name, {}])) };
  const required = Array.isArray(given['required']) ? (given['required'] as unknown[]) : [];
  const all = [...new Set([...required, ...names])];
  return { ...given, type: 'object', ...(all.length > 0 && { required: all }) };
}
