import protobuf from 'protobufjs';

const texts: [RegExp, string][] = [
  [/Json$/, '{}'],
  [/Id$/, 'id-1'],
];

/** A request with every field of its type; of fields that exclude each other the first. */
export function exampleRequest(type: protobuf.Type, above: readonly protobuf.Type[] = []): unknown {
  if (type.fullName === '.google.protobuf.Timestamp') return '2026-01-31T12:00:00.000Z';
  const isFirstOfItsGroup = (field: protobuf.Field) => !field.partOf || field.partOf.oneof[0] === field.name;
  // A type inside itself would never end.
  const endless = (field: protobuf.Field) =>
    field.resolvedType instanceof protobuf.Type && [...above, type].includes(field.resolvedType);
  return Object.fromEntries(
    type.fieldsArray
      .filter((field) => isFirstOfItsGroup(field) && !endless(field))
      .map((field) => [field.name, several(field, single(field, [...above, type]))]),
  );
}

function several(field: protobuf.Field, value: unknown): unknown {
  if (field instanceof protobuf.MapField) return { [field.keyType === 'string' ? 'key' : '1']: value };
  return field.repeated ? [value] : value;
}

function single({ name, type, resolvedType }: protobuf.Field, above: readonly protobuf.Type[]): unknown {
  if (resolvedType instanceof protobuf.Type) return exampleRequest(resolvedType, above);
  if (resolvedType instanceof protobuf.Enum) {
    const names = Object.keys(resolvedType.values);
    return names[1] ?? names[0]; // the first stands for "not given"
  }
  if (type === 'string') return texts.find(([pattern]) => pattern.test(name))?.[1] ?? 'text';
  if (type === 'bytes') return Buffer.from('bytes').toString('base64');
  if (type === 'bool') return true;
  return type.endsWith('64') ? '1' : 1;
}
