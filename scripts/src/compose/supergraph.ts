import { composeServices } from '@apollo/composition';
import { withSharedSdl } from '@parley/graph/shared-sdl';
import { type DocumentNode, parse } from 'graphql';
import { readFieldRules } from '../../../gateway/src/graph/field-rules.ts';

/**
 * The supergraph SDL of these subgraphs, each with the name of its unit (`agent`) and its SDL without the shared
 * definitions. Its routing URLs are `http://<unit>.invalid`: the gateway gets the real ones from its configuration.
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

/** The root fields without `@access`: `Query.myTenant`. */
function openFields({ definitions }: DocumentNode): string[] {
  return definitions.flatMap((each) => {
    if (!('fields' in each) || !/^(Query|Mutation|Subscription)$/u.test(each.name.value)) return [];
    const open = (each.fields ?? []).filter(
      ({ directives }) => !directives?.some(({ name }) => name.value === 'access'),
    );
    return open.map(({ name }) => `${each.name.value}.${name.value}`);
  });
}
