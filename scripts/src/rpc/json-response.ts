import protobuf from 'protobufjs';
import { type Timestamp, timestampText } from './timestamp.ts';

/**
 * What proto-loader read, as protobuf's JSON: times in RFC 3339, and nothing where nothing was sent. It has written int64 as
 * text and bytes in base64 already.
 */
export function responseToJson(type: protobuf.Type, response: object): object {
  const sent: Record<string, unknown> = { ...response };
  const entries = type.fieldsArray
    .map((field) => [field, sent[field.name]] as const)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([field, value]) => [field.name, fieldValue(field, value)]);
  return Object.fromEntries(entries);
}

function fieldValue({ map, repeated, resolvedType }: protobuf.Field, value: unknown): unknown {
  if (!(resolvedType instanceof protobuf.Type)) return value;
  const one = (each: unknown) =>
    resolvedType.fullName === '.google.protobuf.Timestamp'
      ? timestampText(each as Timestamp)
      : responseToJson(resolvedType, each as object);
  if (repeated) return (value as unknown[]).map(one);
  if (!map) return one(value);
  return Object.fromEntries(Object.entries(value as object).map(([key, each]) => [key, one(each)]));
}
