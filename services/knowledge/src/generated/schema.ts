// Written by scripts/generate from schema.graphql.

export type Maybe<T> = T | null | undefined;
export type InputMaybe<T> = T | null | undefined;
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** A time as ISO 8601, in UTC with milliseconds. */
  DateTime: { input: Date; output: Date; }
  /** Any JSON value. */
  JSON: { input: unknown; output: unknown; }
  /** A JSON object. */
  JSONObject: { input: Record<string, unknown>; output: object; }
  _FieldSet: { input: string; output: string; }
};

/** A named collection of documents that replies can use. */
export type KnowledgeBaseDto = {
  __typename?: 'KnowledgeBaseDto';
  /** The base's id. All ids are positive. */
  id: Scalars['Int']['output'];
  /** The base's name: at most 200 characters, not necessarily unique. */
  name: Scalars['String']['output'];
  /** A description, as given. */
  description?: Maybe<Scalars['String']['output']>;
  /** Time at which the base was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A document of a knowledge base. */
export type KnowledgeDocumentDto = {
  __typename?: 'KnowledgeDocumentDto';
  /** The document's id. */
  id: Scalars['Int']['output'];
  /** The document's label, as given. */
  fileName: Scalars['String']['output'];
  /**
   * The content type of the stored object for an upload, or of the response for a web page. For given text: `text/markdown` if the name ends
   * in `.md`, else `text/plain`.
   */
  mimeType: Scalars['String']['output'];
  /** For an upload, the size of the stored object; otherwise the size of the text in UTF-8. */
  fileSizeBytes: Scalars['Int']['output'];
  /** The status: PENDING and PARSING until the text has been read, READY once passages can be found, or FAILED. */
  parseStatus: Scalars['String']['output'];
  /** Why the document is FAILED; null otherwise. */
  parseError?: Maybe<Scalars['String']['output']>;
  /**
   * Warnings about content of the uploaded file or web page that is missing in the text, one sentence each; the text also ends with these
   * sentences. Empty if nothing is missing, if the document is not READY yet, or if its text was replaced.
   */
  parseWarnings: Array<Scalars['String']['output']>;
  /** The whole text, which only `knowledgeDocument` returns. Empty in lists, and while PENDING or PARSING. */
  rawText: Scalars['String']['output'];
  /** Time at which the document was stored. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A passage that was found. */
export type KnowledgeChunkPreviewDto = {
  __typename?: 'KnowledgeChunkPreviewDto';
  /** The chunk's id. A document that is chunked again gets new chunk ids. */
  chunkId: Scalars['Int']['output'];
  /** The chunk's document. */
  documentId: Scalars['Int']['output'];
  /** Text of the passage. */
  content: Scalars['String']['output'];
  /** Cosine similarity to the query, -1 to 1; higher is more relevant. */
  score: Scalars['Float']['output'];
  /** The chunk's index in the document, from 0. */
  chunkIndex: Scalars['Int']['output'];
  /** The document's file name. */
  documentName: Scalars['String']['output'];
};

/** How passages are ranked. */
export type RetrievalMode =
  /** By cosine similarity only. */
  | 'COSINE'
  /** By cosine similarity and full text together, by reciprocal rank fusion; `score` stays the cosine similarity. */
  | 'HYBRID';

/** Vectors of texts. */
export type EmbedResultDto = {
  __typename?: 'EmbedResultDto';
  /** One vector per text, in the order of the texts. Vectors have 768 numbers and length 1. */
  vectors: Array<Array<Scalars['Float']['output']>>;
  /** The usage. */
  usage: EmbedUsageDto;
};

/** The usage of an embedding. */
export type EmbedUsageDto = {
  __typename?: 'EmbedUsageDto';
  /** Input tokens as counted by the embeddings endpoint, or characters / 4 if it sends no count. */
  inputTokens: Scalars['Int']['output'];
  /** Output tokens, always 0. */
  outputTokens: Scalars['Int']['output'];
  /** The cost in USD by the model's price; 0 for the built-in embedding. */
  costUsd: Scalars['Float']['output'];
};

/** A new base. Lengths count Unicode code points. */
export type CreateKnowledgeBaseInput = {
  /** The name: at most 200 characters, not blank. */
  name: Scalars['String']['input'];
  /** The description: at most 2,000 characters. */
  description?: InputMaybe<Scalars['String']['input']>;
};

/** A text to store as a document. */
export type IngestDocumentInput = {
  /** The base of the new document. */
  knowledgeBaseId: Scalars['Int']['input'];
  /** The document's label: one line of at most 255 characters, not blank. With the suffix `.md`, the text is Markdown. */
  fileName: Scalars['String']['input'];
  /** The text: at most 500,000 characters, not blank. */
  text: Scalars['String']['input'];
};

/** A file to upload. */
export type RequestKnowledgeDocumentUploadInput = {
  /** The base of the new document. */
  knowledgeBaseId: Scalars['Int']['input'];
  /** The document's label: one line of at most 255 characters, not blank. */
  fileName: Scalars['String']['input'];
  /** The MIME type of PDF, DOCX, Markdown, CSV or XLSX; the PUT must send it as its content type. */
  mimeType: Scalars['String']['input'];
  /**
   * The file's size in bytes, at most 20 MB (20 × 2^20). This storage is reserved until the upload is confirmed, refused or a day old. The
   * file may exceed the declared size by an eighth, or by 256 KB if that is more.
   */
  declaredSizeBytes: Scalars['Int']['input'];
};

/** Where and how to upload the file. */
export type RequestKnowledgeDocumentUploadResult = {
  __typename?: 'RequestKnowledgeDocumentUploadResult';
  /** A URL for one PUT of the file's bytes, valid for 15 minutes. */
  uploadUrl: Scalars['String']['output'];
  /** Identifies the upload in `confirmKnowledgeDocumentUpload`. */
  objectStorageKey: Scalars['String']['output'];
};

/** A file that has been uploaded. */
export type ConfirmKnowledgeDocumentUploadInput = {
  /** The base for which the upload was requested. */
  knowledgeBaseId: Scalars['Int']['input'];
  /** The document's label: one line of at most 255 characters, not blank. */
  fileName: Scalars['String']['input'];
  /** The `mimeType` with which the upload was requested. */
  mimeType: Scalars['String']['input'];
  /** The key that `requestKnowledgeDocumentUpload` returned. */
  objectStorageKey: Scalars['String']['input'];
};

/** A document that waits to be parsed. */
export type ConfirmKnowledgeDocumentUploadResult = {
  __typename?: 'ConfirmKnowledgeDocumentUploadResult';
  /** The document. */
  documentId: Scalars['Int']['output'];
  /** Always PENDING. */
  parseStatus: Scalars['String']['output'];
};

/** A web page to store as a document. */
export type IngestDocumentFromUrlInput = {
  /** The base of the new document. */
  knowledgeBaseId: Scalars['Int']['input'];
  /** The page's URL: http or https, with a public address, at most 2,048 characters. */
  url: Scalars['String']['input'];
  /** The document's label: one line of at most 255 characters. Default: the page's title, else the host. */
  fileName?: InputMaybe<Scalars['String']['input']>;
};

export type Query = {
  __typename?: 'Query';
  /** The tenant's bases, oldest first, without deleted ones. */
  knowledgeBases: Array<KnowledgeBaseDto>;
  /** A base's documents, newest first, without their text. NOT_FOUND if the base does not exist. */
  knowledgeDocuments: Array<KnowledgeDocumentDto>;
  /** One document with its text. */
  knowledgeDocument: KnowledgeDocumentDto;
  /** The passages of a base that answer a question best, the best first; `topK` at most 20, `query` at most 10,000 characters. */
  retrieveChunks: Array<KnowledgeChunkPreviewDto>;
  /** Embeds texts with the model of the tenant's knowledge bases, metered: at most 100 texts, 32,000 characters per text, 1 MB per request. */
  embed: EmbedResultDto;
};


export type QueryKnowledgeDocumentsArgs = {
  knowledgeBaseId: Scalars['Int']['input'];
};


export type QueryKnowledgeDocumentArgs = {
  id: Scalars['Int']['input'];
};


export type QueryRetrieveChunksArgs = {
  knowledgeBaseId: Scalars['Int']['input'];
  query: Scalars['String']['input'];
  topK?: InputMaybe<Scalars['Int']['input']>;
  mode?: InputMaybe<RetrievalMode>;
};


export type QueryEmbedArgs = {
  texts: Array<Scalars['String']['input']>;
};

export type Mutation = {
  __typename?: 'Mutation';
  /** Creates a base, within the plan's number of bases. */
  createKnowledgeBase: KnowledgeBaseDto;
  /** Deletes a base. Its documents stay stored, and count towards quotas, until they are deleted. */
  deleteKnowledgeBase: Scalars['Boolean']['output'];
  /** Stores a text as a READY document, within the plan's chunks and storage. Returns the number of its chunks. */
  ingestDocument: Scalars['Int']['output'];
  /**
   * Returns a URL for uploading a file. TOO_MANY_REQUESTS if 100 uploads of the tenant wait to be confirmed, or if the tenant requested 400
   * uploads within half an hour. The operator may change the first limit; the second is always four times the first. An unconfirmed upload
   * counts for at most a day, or for half an hour if it was refused or its file did not arrive. BAD_REQUEST if the declared size exceeds the
   * free storage: the plan's storage without the part that is used or reserved by other uploads.
   */
  requestKnowledgeDocumentUpload: RequestKnowledgeDocumentUploadResult;
  /**
   * Creates a document from an uploaded file and queues it for parsing; poll `knowledgeDocuments` until READY or FAILED. A file is refused and
   * removed if it is empty, too large, larger than declared, of another type than declared, or larger than the plan's remaining storage. Then
   * request another upload.
   */
  confirmKnowledgeDocumentUpload: ConfirmKnowledgeDocumentUploadResult;
  /** Deletes a document with its chunks, and releases its share of the quotas. */
  deleteKnowledgeDocument: Scalars['Boolean']['output'];
  /** Queues a FAILED document for parsing again; chunks and embeds the text of a READY document again. BAD_REQUEST while PENDING or PARSING. */
  resyncKnowledgeDocument: Scalars['Boolean']['output'];
  /** Replaces a document's text, at most 500,000 characters, and makes it READY. BAD_REQUEST while PENDING or PARSING. */
  updateKnowledgeDocumentText: Scalars['Boolean']['output'];
  /** Fetches one page and stores its text as a READY document. Returns the number of its chunks. */
  ingestDocumentFromUrl: Scalars['Int']['output'];
};


export type MutationCreateKnowledgeBaseArgs = {
  input: CreateKnowledgeBaseInput;
};


export type MutationDeleteKnowledgeBaseArgs = {
  id: Scalars['Int']['input'];
};


export type MutationIngestDocumentArgs = {
  input: IngestDocumentInput;
};


export type MutationRequestKnowledgeDocumentUploadArgs = {
  input: RequestKnowledgeDocumentUploadInput;
};


export type MutationConfirmKnowledgeDocumentUploadArgs = {
  input: ConfirmKnowledgeDocumentUploadInput;
};


export type MutationDeleteKnowledgeDocumentArgs = {
  id: Scalars['Int']['input'];
};


export type MutationResyncKnowledgeDocumentArgs = {
  id: Scalars['Int']['input'];
};


export type MutationUpdateKnowledgeDocumentTextArgs = {
  id: Scalars['Int']['input'];
  text: Scalars['String']['input'];
};


export type MutationIngestDocumentFromUrlArgs = {
  input: IngestDocumentFromUrlInput;
};
