import { type JsonValue, query } from 'jsonpath-rfc9535';
import { parsePath } from './json-path.ts';

/** Maps fields of the result to paths of what is mapped. */
export type Mapping = Readonly<Record<string, string>>;

export class MappingTooLarge extends Error {
  override name = 'MappingTooLarge';
}

/**
 * The mapped object as JSON: of a path that can name one value only, that value, or null where there is none; of any other path, the list
 * of its values. Takes as long as the paths want: `payloadMapper` bounds it.
 * @throws MappingTooLarge above `maxCharacters`
 */
export function mappedJson(mapping: Mapping, payload: JsonValue, maxCharacters: number): string {
  let left = maxCharacters;
  const jsonOf = (value: JsonValue): string => {
    const json = JSON.stringify(value);
    left -= json.length + 1;
    if (left < 0) throw new MappingTooLarge('The mapped object is too large');
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
