import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codegen } from '@graphql-codegen/core';
import * as typescript from '@graphql-codegen/typescript';
import * as typescriptResolvers from '@graphql-codegen/typescript-resolvers';
import { withSharedSdl } from '@parley/graph/shared-sdl';
import { buildASTSchema, type DocumentNode, Kind, parse, visit } from 'graphql';

const header = '// Written by scripts/generate from schema.graphql.\n\n';

/** The options for both files that are generated from a schema. Resolvers may return undefined for null. */
const common = {
  enumsAsTypes: true,
  federation: true,
  maybeValue: 'T | null | undefined',
  scalars: {
    DateTime: 'Date',
    JSON: 'unknown',
    _FieldSet: 'string',
    JSONObject: { input: 'Record<string, unknown>', output: 'object' },
  },
  strictScalars: true,
  useTypeImports: true,
};

/**
 * Generates the TypeScript of every `services/<name>/src/schema.graphql` below `root`. Returns two files for each schema, by their path in
 * the checkout.
 */
export async function graphqlTypes(root: string) {
  const schemas = globSync('services/*/src/schema.graphql', { cwd: root }).toSorted();
  const files = await Promise.all(
    schemas.map(async (path) => {
      const folder = path.replace(/\/[^/]+$/, '');
      const mappersFile = join(root, folder, 'graph/mappers.ts');
      const mappers = existsSync(mappersFile) ? readFileSync(mappersFile, 'utf8') : '';
      const hasContext = existsSync(join(root, folder, 'graph/context.ts'));
      const hasPorts = existsSync(join(root, folder, 'ports.ts'));
      const sdl = readFileSync(join(root, path), 'utf8');
      const { types, resolvers } = await typesOf(sdl, { mappers, hasContext, hasPorts });
      return [
        { path: `${folder}/generated/schema.ts`, text: types },
        { path: `${folder}/graph/generated/resolvers.ts`, text: resolvers },
      ];
    }),
  );
  return files.flat();
}

/**
 * Generates the types of one schema for use cases, and the types of its resolvers. The resolvers' context is `Context` of
 * `graph/context.ts`, else `PortsContext` of `ports.ts`, else `GraphContext`. If `graph/mappers.ts` exports a type with the name of a
 * schema type, resolvers use the exported type.
 * @param sdl the SDL of the subgraph without `shared.graphql`.
 * @param mappers the text of `graph/mappers.ts`, if the file exists.
 */
export async function typesOf(
  sdl: string,
  { mappers = '', hasContext = false, hasPorts = false } = {},
): Promise<{ types: string; resolvers: string }> {
  const document = asResolved(parse(withSharedSdl(sdl)));
  const objects = document.definitions.flatMap((each) =>
    each.kind === Kind.OBJECT_TYPE_DEFINITION ? [each.name.value] : [],
  );
  const mapped = objects.filter((name) => new RegExp(`\\b(as|type|interface) ${name}\\b`).test(mappers));
  const types = await generate(document, 'typescript', {});
  const resolvers = await generate(document, 'typescript-resolvers', {
    allResolversTypeName: 'PartialResolvers',
    contextType: hasContext
      ? '../context.ts#Context'
      : `@parley/subgraph/subgraph#${hasPorts ? 'PortsContext<Ports>' : 'GraphContext'}`,
    makeResolverTypeCallable: true,
    mappers: Object.fromEntries(mapped.map((name) => [name, `../mappers.ts#${name}`])),
    namespacedImportName: 'Types',
  });
  const roots = objects.filter((name) => name === 'Query' || name === 'Mutation');
  const imports = [
    `import type * as Types from '../../generated/schema.ts';`,
    ...(hasContext || !hasPorts ? [] : [`import type { Ports } from '../../ports.ts';`]),
  ];
  return {
    types: header + types,
    resolvers: `${header}${imports.join('\n')}\n${resolvers}\n${complete(roots, mapped)}`,
  };
}

/** Makes resolvers required. The generated resolvers are optional, and a missing resolver would return null or a wrong value. */
function complete(roots: string[], mapped: string[]): string {
  const needed = [
    ...roots.map((name) => `  ${name}: Required<${name}Resolvers>;`),
    ...mapped.map((name) => `  ${name}: Needed<${name}Resolvers, Types.${name}, ${name}>;`),
  ];
  return `/** All that a subgraph resolves: every root field, and what a mapped type does not hold as the schema has it. */
export type Resolvers = PartialResolvers & {
${needed.join('\n')}
};

type Needed<Resolvers, Dto, Held> = Required<Pick<Resolvers, NotHeld<Dto, Held> & keyof Resolvers>>;
type NotHeld<Dto, Held> = {
  [Field in keyof Dto]-?: Field extends keyof Held
    ? Exclude<Held[Field], undefined> extends Dto[Field] ? never : Field
    : Field;
}[keyof Dto];
`;
}

const pluginMap = { typescript, 'typescript-resolvers': typescriptResolvers };

function generate(document: DocumentNode, plugin: keyof typeof pluginMap, config: object): Promise<string> {
  return codegen({
    schema: document,
    schemaAst: buildASTSchema(document, { assumeValidSDL: true }),
    documents: [],
    filename: 'generated.ts',
    plugins: [{ [plugin]: {} }],
    pluginMap,
    config: { ...common, ...config },
  });
}

/** Removes directives, which resolvers do not use. Makes arguments nullable if their default is null. */
function asResolved(document: DocumentNode): DocumentNode {
  return visit(document, {
    SchemaExtension: () => null,
    DirectiveDefinition: () => null,
    EnumTypeDefinition: ({ name }) => (name.value === 'CredentialKind' ? null : undefined),
    InputValueDefinition: ({ defaultValue, ...argument }) => (defaultValue?.kind === Kind.NULL ? argument : undefined),
  });
}
