import { composeServices } from '@apollo/composition';
import { withSharedSdl } from '@parley/graph/shared-sdl';
import { type DocumentNode, Kind, parse } from 'graphql';

const roots = ['Query', 'Mutation', 'Subscription'];

/**
 * The supergraph SDL of these subgraphs, each with the name of its unit (`agent`) and its SDL without the shared
 * definitions. Its routing URLs are `http://<unit>.invalid`: the gateway gets the real ones from its configuration.
 * @throws Error that names every problem.
 */
export function composeSupergraph(subgraphs: { name: string; sdl: string }[]): string {
  const parsed = subgraphs.map(({ name, sdl }) => {
    return { name, url: `http://${name}.invalid`, typeDefs: parse(withSharedSdl(sdl)) };
  });

  const open = parsed.flatMap(({ name, typeDefs }) => {
    return rootFieldsWithoutAccess(typeDefs).map((field) => `[${name}] ${field} says not who may call it: add @access`);
  });
  const { supergraphSdl, errors = [] } = composeServices(parsed);
  const problems = [...open, ...errors.map(({ message }) => message)];
  if (problems.length > 0 || supergraphSdl === undefined) throw new Error(problems.join('\n'));
  return `# Written by scripts/compose from services/*/src/schema.graphql.\n${supergraphSdl}\n`;
}

function rootFieldsWithoutAccess({ definitions }: DocumentNode): string[] {
  return definitions
    .filter((each) => each.kind === Kind.OBJECT_TYPE_DEFINITION || each.kind === Kind.OBJECT_TYPE_EXTENSION)
    .filter(({ name }) => roots.includes(name.value))
    .flatMap(({ name, fields = [] }) => {
      const open = fields.filter(({ directives = [] }) => !directives.some((each) => each.name.value === 'access'));
      return open.map((field) => `${name.value}.${field.name.value}`);
    });
}
