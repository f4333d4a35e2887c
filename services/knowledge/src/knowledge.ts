import { type Column, column, type RowOf, table } from '@parley/postgres/database/table';

export type ParseStatus = 'PENDING' | 'PARSING' | 'READY' | 'FAILED';
export type DocumentOrigin = 'TEXT' | 'URL' | 'UPLOAD';

export const knowledgeBases = table('knowledge_bases', {
  id: column<number>(),
  tenantId: column<number>(),
  name: column<string>({ long: "''" }),
  description: column<string | null>({ long: 'NULL' }),
  embeddingModel: column<string>(),
  deletedAt: column<Date | null>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type KnowledgeBase = RowOf<typeof knowledgeBases>;

export const knowledgeDocuments = table('knowledge_documents', {
  id: column<number>(),
  tenantId: column<number>(),
  knowledgeBaseId: column<number>(),
  origin: column<DocumentOrigin>(),
  fileName: column<string>(),
  mimeType: column<string>(),
  fileSizeBytes: column<number>(),
  parseStatus: column<ParseStatus>(),
  parseError: column<string | null>(),
  /** Describes what is missing in the text compared with the file. Shown with the text. */
  parseWarnings: column<string[]>({
    long: "cast('{}' AS text[])",
    sql: (of) => `CASE WHEN ${of}.parse_status = 'READY' THEN ${of}.parse_warnings ELSE '{}' END`,
  }),
  objectKey: column<string | null>(),
  objectEtag: column<string | null>(),
  /** A number that increases each time the file is queued for parsing. */
  version: column<number>(),
  /** The version whose text is stored; 0 if no version has been parsed. */
  parsedVersion: column<number>(),
  /** The generation of chunks that is searched; 0 if there is none yet. */
  generation: column<number>(),
  /** The generation whose passages were embedded with `embeddedName`; 0 if there is none. */
  namedGeneration: column<number>(),
  embeddedName: column<string | null>(),
  /** The generation that was built for another embedding model and waits for the base's other documents. */
  preparedGeneration: column<number | null>(),
  chunkCount: column<number>(),
  storedBytes: column<number>(),
  deletedAt: column<Date | null>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type KnowledgeDocument = RowOf<typeof knowledgeDocuments>;

/** Documents with their text as clients see it. The text is empty while the file is being parsed. */
export const knowledgeDocumentTexts = table('knowledge_documents', {
  ...(knowledgeDocuments.columns as { [Field in keyof KnowledgeDocument]: Column<KnowledgeDocument[Field]> }),
  rawText: column<string>({
    long: "''",
    sql: (of) => `CASE WHEN ${of}.parse_status IN ('PENDING', 'PARSING') THEN '' ELSE ${of}.raw_text END`,
  }),
});

/** A document as the schema shows it; `rawText` is empty in lists. */
export type DocumentView = KnowledgeDocument & { rawText: string };
