import { composeServices } from '@apollo/composition';
import { withSharedSdl } from '@parley/graph/shared-sdl';
import { type DocumentNode, parse } from 'graphql';
import { readFieldRules } from '../../../gateway/src/graph/field-rules.ts';

/**
 * Composes the subgraphs into the supergraph's SDL. A subgraph has the name of its unit (`agent`), and an SDL without the shared
 * definitions. The routing URLs are `http://<unit>.invalid`, because the gateway's settings contain the real ones.
 * @throws Error that names every problem of the composition, or every root field without `@access`.
 */
export function composeSupergraph(subgraphs: { name: string; sdl: string }[]): string {
  const parsed = subgraphs.map(({ name, sdl }) => {
    return { name, url: `http://${name}.invalid`, typeDefs: parse(withSharedSdl(sdl)) };
  });
  const { supergraphSdl, errors = [] } = composeServices(parsed);
  if (supergraphSdl === undefined) throw new Error(errors.map(({ message }) => message).join('\n'));
  const open = parsed.flatMap(({ name, typeDefs }) =>
    openFields(typeDefs).map((field) => `${name}: ${field} has no @access`),
  );
  if (open.length > 0) throw new Error(open.join('\n'));
  readFieldRules(supergraphSdl); // throws if the composition has dropped the directive
  return `# Written by scripts/compose from services/*/src/schema.graphql.\n${supergraphSdl}\n`;
}

/** Returns the root fields without `@access`, such as `Query.myTenant`. */
function openFields({ definitions }: DocumentNode): string[] {
  return definitions.flatMap((each) => {
    if (!('fields' in each) || !/^(Query|Mutation|Subscription)$/u.test(each.name.value)) return [];
    const open = (each.fields ?? []).filter(
      ({ directives }) => !directives?.some(({ name }) => name.value === 'access'),
    );
    return open.map(({ name }) => `${each.name.value}.${name.value}`);
  });
}
