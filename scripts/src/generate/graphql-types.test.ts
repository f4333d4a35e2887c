import { stripTypeScriptTypes } from 'node:module';
import test from 'ava';
import { typesOf } from './graphql-types.ts';

const sdl = `
  "What it is for."
  enum Purpose { "To work." WORK PLAY }
  type Place @key(fields: "id") { id: Int! name: String! visits: [Visit!]! }
  type Visit { at: DateTime! note: JSON }
  input NewPlace { name: String! purpose: Purpose }
  type Query { place(id: ID!): Place @access(by: []) places(first: Int = null): [Place!]! @access(by: [JWT]) }
  type Mutation { makePlace(input: NewPlace!): Place! @access(by: [JWT]) }`;

test('enums, inputs and arguments become types, without directives', async (t) => {
  const { types, resolvers } = await typesOf(sdl);
  t.regex(types, /export type Purpose =\s+\/\*\* To work. \*\/\s+\| 'WORK'\s+\| 'PLAY';/);
  t.regex(types, /export type NewPlace = \{\s+name: Scalars\['String'\]\['input'\];\s+purpose\?: InputMaybe<Purpose>;/);
  t.regex(types, /export type QueryPlaceArgs = \{\s+id: Scalars\['ID'\]\['input'\];/);
  t.regex(types, /DateTime: \{ input: Date; output: Date; \}/);
  t.notRegex(types + resolvers, /CredentialKind|AccessDirective/);
});

test("every root field requires a resolver, with the service's context", async (t) => {
  const { resolvers } = await typesOf(sdl, { hasContext: true });
  t.regex(resolvers, /import type \{ Context \} from '\.\.\/context\.ts'/);
  t.regex(
    resolvers,
    /Resolvers = PartialResolvers & \{\s+Query: Required<QueryResolvers>;\s+Mutation: Required<MutationResolvers>;\s+\}/,
  );
});

test('resolvers of a service without its own context get its ports', async (t) => {
  const { resolvers } = await typesOf(sdl, { hasPorts: true });
  t.regex(resolvers, /import type \{ Ports \} from '\.\.\/\.\.\/ports\.ts'/);
  t.regex(resolvers, /import type \{ PortsContext \} from '@parley\/subgraph\/subgraph'/);
  t.regex(resolvers, /<ContextType = PortsContext<Ports>/);
});

test('resolvers of a service without ports get the common context of subgraphs', async (t) => {
  const { resolvers } = await typesOf(sdl);
  t.regex(resolvers, /import type \{ GraphContext \} from '@parley\/subgraph\/subgraph'/);
  t.regex(resolvers, /<ContextType = GraphContext,/);
  t.notRegex(resolvers, /Ports/);
});

test('an argument with the default null is nullable', async (t) => {
  const { resolvers } = await typesOf(sdl);
  t.regex(resolvers, /places\?: Resolver<.*, Partial<Types\.QueryPlacesArgs>>;/);
});

test("resolvers and references get the types that mappers.ts exports, and otherwise the schema's types", async (t) => {
  const mappers = `/** No Visit here. */ export type { Location as Place } from '../location.ts';`;
  const { resolvers } = await typesOf(sdl, { mappers });
  t.regex(resolvers, /import type \{ Place \} from '\.\.\/mappers\.ts'/);
  t.regex(resolvers, /  Place: ResolverTypeWrapper<Place>;/);
  t.regex(resolvers, /  Visit: ResolverTypeWrapper<Types\.Visit>;/);
  t.regex(resolvers, /  Place: Needed<PlaceResolvers, Types\.Place, Place>;/);
  t.regex(resolvers, /__resolveReference\?: ReferenceResolver</);
});

test('the output contains only types, so that Node can run it unchanged', async (t) => {
  const { types, resolvers } = await typesOf(sdl);
  for (const text of [types, resolvers])
    t.is(
      stripTypeScriptTypes(text)
        .replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, '')
        .trim(),
      '',
    );
});
