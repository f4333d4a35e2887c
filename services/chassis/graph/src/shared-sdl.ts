import { readFileSync } from 'node:fs';

/** Returns the schema of a subgraph as it is composed and served: the shared directives and types, then its own SDL. */
export function withSharedSdl(ownSdl: string): string {
  return `${shared}\n${ownSdl}`;
}

const shared = readFileSync(new URL('shared.graphql', import.meta.url), 'utf8');
