/** The types that resolvers get instead of the schema's types; `scripts/generate` reads their names. */
export type { EmbedResult as EmbedResultDto } from '../embeddings/embed.ts';
