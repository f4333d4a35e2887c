import { readFileSync } from 'node:fs';

/** A subgraph's schema as it is composed and served: its own SDL after the directives and types that all subgraphs share. */
export function withSharedSdl(ownSdl: string): string {
  return `${shared}\n${ownSdl}`;
}

const shared = readFileSync(new URL('shared.graphql', import.meta.url), 'utf8');
