import { globSync } from 'node:fs';
import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import { UsageError } from './usage-error.ts';

/** The bytes of one method on the wire, as proto-loader knows them. */
export interface Wire {
  path: string;
  serialize(request: object): Buffer;
  deserialize(response: Buffer): object;
}

export interface Method {
  name: string;
  /** What its proto says about it; empty where it says nothing. */
  comment: string;
  answersStream: boolean;
  takesStream: boolean;
  request: protobuf.Type;
  response: protobuf.Type;
  wire: Wire;
}

/** What one unit of the mesh answers by gRPC. */
export interface UnitMethods {
  unit: string;
  /** What the proto says about its service. */
  comment: string;
  methods: Method[];
}

/** The package of a unit's protos is named after it, with a version: `parley.session.v1`. */
const serviceName = /^parley\.(?<unit>\w+)\.v\d+\.\w+$/;

/** Reads all `.proto` files below `folder`, as they are now. */
export function loadCatalogue(folder: string): UnitMethods[] {
  const files = globSync('parley/**/*.proto', { cwd: folder }).toSorted();
  // `defaults` shows a zero as a zero; `longs` and `bytes` as JSON can hold them.
  const options = { longs: String, enums: String, bytes: String, defaults: true, includeDirs: [folder] };
  const definitions = loadSync(files, options);
  const described = describe(files, folder);

  const units = new Map<string, UnitMethods>();
  for (const [fullName, definition] of Object.entries(definitions)) {
    const unit = serviceName.exec(fullName)?.groups?.unit;
    if (unit === undefined || 'format' in definition) continue;
    const service = described.lookupService(fullName);
    const known = units.get(unit) ?? { unit, comment: service.comment ?? '', methods: [] };
    for (const [name, { path, requestSerialize, responseDeserialize, ...streams }] of Object.entries(definition)) {
      const method = service.methods[name];
      if (!method?.resolvedRequestType || !method.resolvedResponseType) throw new Error(`${path} leads nowhere`);
      known.methods.push({
        name,
        comment: method.comment ?? '',
        answersStream: streams.responseStream,
        takesStream: streams.requestStream,
        request: method.resolvedRequestType,
        response: method.resolvedResponseType,
        wire: { path, serialize: requestSerialize, deserialize: responseDeserialize },
      });
    }
    units.set(unit, known);
  }
  return [...units.values()].toSorted((a, b) => a.unit.localeCompare(b.unit));
}

/** proto-loader keeps neither comments nor the types of fields; the parser below it does. */
function describe(files: string[], folder: string): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => (target.startsWith('google/') ? target : join(folder, target));
  root.loadSync(files, { alternateCommentMode: true });
  root.resolveAll();
  return root;
}

/** @throws UsageError naming the units that there are. */
export function unitOf(catalogue: UnitMethods[], name: string): UnitMethods {
  const unit = catalogue.find((each) => each.unit === name);
  if (unit) return unit;
  throw new UsageError(`No unit is called ${name}. There are: ${catalogue.map((each) => each.unit).join(', ')}`);
}

/** By its name in the proto or as our code spells it: `GetTranscript`, `getTranscript`. @throws UsageError */
export function methodOf({ unit, methods }: UnitMethods, name: string): Method {
  const method = methods.find((each) => each.name === name.charAt(0).toUpperCase() + name.slice(1));
  if (method) return method;
  throw new UsageError(`${unit} has no method ${name}. It has: ${methods.map((each) => each.name).join(', ')}`);
}
