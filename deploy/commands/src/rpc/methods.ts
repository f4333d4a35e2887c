import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createFileRegistry, type DescMethod, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const isOfOperators = ({ parent }: DescMethod) => parent.name === 'AdminService';

/**
 * Returns the methods in the descriptor file that `scripts/generate` writes. Omits the methods of operators. Also omits methods with a
 * request stream, because nobody can enter a stream as an argument.
 */
export function readMethods(): DescMethod[] {
  return allMethods().filter((method) => !isOfOperators(method));
}

/** Returns the methods that operators call with `scripts/admin`. */
export function readOperatorMethods(): DescMethod[] {
  return allMethods().filter(isOfOperators);
}

function allMethods(): DescMethod[] {
  const image = readFileSync(fileURLToPath(import.meta.resolve('@parley/protos/image.binpb')));
  return [...createFileRegistry(fromBinary(FileDescriptorSetSchema, image))]
    .flatMap((each) => (each.kind === 'service' ? each.methods : []))
    .filter(({ methodKind }) => methodKind === 'unary' || methodKind === 'server_streaming');
}

/**
 * Returns a method's name with its unit, e.g. `session GetTranscript`. The proto package contains the name of the unit:
 * `parley.session.v1`.
 */
export function nameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName.split('.')[1]} ${name}`;
}

/** Formats a method with the comment of its proto for a terminal. */
export function describe(method: DescMethod): string {
  const { input, output, methodKind, parent } = method;
  const { services, proto } = parent.file;
  // Field 6 of a file descriptor contains the services of the file; field 2 of a service contains its methods.
  const place = [6, services.indexOf(parent), 2, parent.methods.indexOf(method)].join();
  const location = proto.sourceCodeInfo?.location.find(({ path }) => path.join() === place);
  const comment = location?.leadingComments.replaceAll(/^ ?(?=.)/gmu, ' '.repeat(4)) ?? '';
  const stream = methodKind === 'server_streaming' ? 'stream of ' : '';
  return `${nameOf(method)}(${input.name}): ${stream}${output.name}\n${comment}`;
}
