import { composeServices } from '@apollo/composition';
import { withSharedSdl } from '@parley/graph/shared-sdl';
import { parse } from 'graphql';
import { readFieldRules } from '../../../gateway/src/graph/field-rules.ts';

/**
 * The supergraph SDL of these subgraphs, each with the name of its unit (`agent`) and its SDL without the shared
 * definitions. Its routing URLs are `http://<unit>.invalid`: the gateway gets the real ones from its configuration.
 * @throws Error that names every problem of the composition, or a root field without `@access`.
 */
export function composeSupergraph(subgraphs: { name: string; sdl: string }[]): string {
  const parsed = subgraphs.map(({ name, sdl }) => {
    return { name, url: `http://${name}.invalid`, typeDefs: parse(withSharedSdl(sdl)) };
  });
  const { supergraphSdl, errors = [] } = composeServices(parsed);
  if (supergraphSdl === undefined) throw new Error(errors.map(({ message }) => message).join('\n'));
  readFieldRules(supergraphSdl);
  return `# Written by scripts/compose from services/*/src/schema.graphql.\n${supergraphSdl}\n`;
}
