export type { Part } from './office-xml.ts';

type Attributes = Readonly<Record<string, string>>;

/** Returns the value of an attribute with this name and any prefix. */
export function valueOf(attributes: Attributes, name = 'val'): string | undefined {
  const usual = attributes[`w:${name}`];
  if (usual !== undefined) return usual;
  for (const key in attributes) if (key === name || key.endsWith(`:${name}`)) return attributes[key];
  return undefined;
}

/** Reports whether a property is on, given the value of its element. An element without a value turns the property on. */
export function isOn(value: string | undefined): boolean {
  return value === undefined || !['0', 'false', 'off'].includes(value);
}
