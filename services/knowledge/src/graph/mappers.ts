/** The objects that resolvers get where they differ from the schema's types; `scripts/generate` reads the names. */
export type { EmbedResult as EmbedResultDto } from '../embeddings/embed.ts';
