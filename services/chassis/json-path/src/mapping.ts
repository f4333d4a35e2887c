import { type JsonValue, query } from 'jsonpath-rfc9535';
import { parsePath } from './json-path.ts';

/** The fields of the result, each with the path of its value in the source. */
export type Mapping = Readonly<Record<string, string>>;

export class MappingTooLarge extends Error {
  override name = 'MappingTooLarge';
}

/**
 * Returns the mapped object as JSON. A path for at most one value gives that value or null; any other path gives a list. The time is
 * unbounded here; `payloadMapper` bounds it.
 * @throws MappingTooLarge if the JSON has more than `maxCharacters` characters
 */
export function mappedJson(mapping: Mapping, payload: JsonValue, maxCharacters: number): string {
  let remaining = maxCharacters;
  const jsonOf = (value: JsonValue): string => {
    const json = JSON.stringify(value);
    remaining -= json.length + 1;
    if (remaining < 0) throw new MappingTooLarge('The mapped object is too large');
    return json;
  };
  const fields = Object.entries(mapping).map(([field, path]) => {
    const name = jsonOf(field);
    const { isSingular } = parsePath(path);
    const values = query(payload, path);
    return `${name}:${isSingular ? jsonOf(values[0] ?? null) : `[${values.map(jsonOf).join(',')}]`}`;
  });
  return `{${fields.join(',')}}`;
}
