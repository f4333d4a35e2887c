/** Whether a path (from the root, with slashes) is part of what runs: no test, and no half-written file of an editor. */
export function isSource(path: string): boolean {
  if (/(\.test\.ts$|\/testing\/|(^|\/)[.#])/u.test(path)) return false;
  return /\.(ts|graphql|proto|json|binpb|liquid)$/u.test(path);
}

/** Whether a path is a subgraph's schema, from which the supergraph is composed. */
export function isSubgraphSchema(path: string): boolean {
  return /^services\/[^/]+\/src\/schema\.graphql$/u.test(path);
}

/** Whether a path is a proto, from which code is generated. */
export function isProto(path: string): boolean {
  return path.endsWith('.proto');
}
