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
  /** A moment, as ISO 8601 in UTC with milliseconds. */
  DateTime: { input: Date; output: Date; }
  /** Any JSON value. */
  JSON: { input: unknown; output: unknown; }
  /** A JSON object. */
  JSONObject: { input: Record<string, unknown>; output: object; }
  _FieldSet: { input: string; output: string; }
};

/** A server of tools that speaks the Model Context Protocol (MCP) over Streamable HTTP. Its credential is never answered. */
export type McpConnectorDto = {
  __typename?: 'McpConnectorDto';
  /** The connector's id; positive, like every id here. */
  id: Scalars['Int']['output'];
  /** At most 200 characters; need not be unique. */
  name: Scalars['String']['output'];
  /** The server's MCP endpoint. */
  serverUrl: Scalars['String']['output'];
  /** When the connector was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A tool, as its server describes it. */
export type McpToolSchemaDto = {
  __typename?: 'McpToolSchemaDto';
  /** The tool's name. */
  name: Scalars['String']['output'];
  /** Description of the tool; null if the server gives none. */
  description?: Maybe<Scalars['String']['output']>;
  /** JSON Schema of the arguments; null if the server gives none. */
  inputSchema?: Maybe<Scalars['JSON']['output']>;
  /** When its schema was first seen to differ from the first one that was seen; null while it has not. */
  changedAt?: Maybe<Scalars['DateTime']['output']>;
};

/** A REST call that agents and workflows can make. Its credential is never answered. */
export type CustomActionDto = {
  __typename?: 'CustomActionDto';
  /** The action's id. */
  id: Scalars['Int']['output'];
  /** At most 200 characters; need not be unique. */
  name: Scalars['String']['output'];
  /** Description for people and models; null if there is none. */
  description?: Maybe<Scalars['String']['output']>;
  /** The endpoint. `{name}` in its path or query is replaced by the argument of that name. */
  url: Scalars['String']['output'];
  /** GET, POST, PUT, PATCH or DELETE. */
  method: Scalars['String']['output'];
  /** The JSON Schema of its arguments (draft-07 or 2020-12); null: any object. */
  argsSchema?: Maybe<Scalars['JSON']['output']>;
  /** Sent on every call, a map of text to text. Returned as stored: not for secrets. */
  extraHeaders?: Maybe<Scalars['JSON']['output']>;
  /** The header that the bearer token is sent in, without `Bearer`; null: `Authorization: Bearer <token>`. */
  credentialSecretHeaderName?: Maybe<Scalars['String']['output']>;
  /**
   * Source of the credential: null (the bearer token, or none), MESSAGING_TENANT, PARTNER_A, PARTNER_B, PARTNER_C, SESSION_PARTNER_A,
   * SESSION_PARTNER_B or SESSION_PARTNER_C.
   */
  credentialSource?: Maybe<Scalars['String']['output']>;
  /** When the action was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
};

/** An operation of a partner's API that the operator has certified: a template for a custom action. */
export type CertifiedOperationDto = {
  __typename?: 'CertifiedOperationDto';
  /** Its key in the catalogue. */
  key: Scalars['String']['output'];
  /** Its name. */
  name: Scalars['String']['output'];
  /** Description; null if there is none. */
  description?: Maybe<Scalars['String']['output']>;
  /** GET, POST, PUT, PATCH or DELETE. */
  method: Scalars['String']['output'];
  /** The endpoint, as an action's `url`. */
  url: Scalars['String']['output'];
  /** The JSON Schema of its arguments; null: any object. */
  argsSchema?: Maybe<Scalars['JSON']['output']>;
  /** The credential sources that it works with. */
  compatibleCredentialSources: Array<Scalars['String']['output']>;
};

/** Kind of the called target. */
export type OutboundCallKind =
  /** A tool of a connector. */
  | 'TOOL'
  /** The tools of a connector were listed. */
  | 'TOOL_LIST'
  /** A custom action. */
  | 'ACTION';

/** A call of a connector or an action that was made for the tenant, without anything that was sent or answered. Kept for 30 days. */
export type OutboundCallDto = {
  __typename?: 'OutboundCallDto';
  /** The call's id. */
  id: Scalars['Int']['output'];
  /** When it began. */
  at: Scalars['DateTime']['output'];
  /** Kind of the called target. */
  kind: OutboundCallKind;
  /** The connector or action, by id; it may have been deleted since. */
  target: Scalars['Int']['output'];
  /** The tool's or the action's name; the connector's where its tools were listed. */
  name: Scalars['String']['output'];
  /** HTTP status of the response; null if there was none. */
  status?: Maybe<Scalars['Int']['output']>;
  /** Duration in milliseconds. */
  durationMs: Scalars['Int']['output'];
  /** Bytes of the answer that were read. */
  bytes: Scalars['Int']['output'];
  /** Error kind of a failed call; null if it succeeded. */
  errorKind?: Maybe<Scalars['String']['output']>;
};

/** Lengths count Unicode code points. */
export type CreateMcpConnectorInput = {
  /** At most 200 characters; not blank. */
  name: Scalars['String']['input'];
  /** http or https, at most 2,000 characters; its host must have a public address. */
  serverUrl: Scalars['String']['input'];
  /** Sent as a bearer token; at most 4,096 characters. Stored encrypted and never answered. */
  apiKey: Scalars['String']['input'];
};

/** Omitted fields are unchanged. To change the credential, create a new connector. */
export type UpdateMcpConnectorInput = {
  /** The connector. */
  id: Scalars['Int']['input'];
  /** See CreateMcpConnectorInput; null is refused. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** See CreateMcpConnectorInput; null is refused. */
  serverUrl?: InputMaybe<Scalars['String']['input']>;
};

/**
 * At most one kind of credential: `bearerToken`, the pair `messagingAppId` and `messagingAppSecret`, or a `credentialSource`. Lengths
 * count Unicode code points.
 */
export type CreateCustomActionInput = {
  /** At most 200 characters; not blank. */
  name: Scalars['String']['input'];
  /** http or https, at most 2,000 characters; the host must have a public address. `{name}` in path or query is a placeholder for an argument. */
  url: Scalars['String']['input'];
  /** GET, POST, PUT, PATCH or DELETE. Default: POST. */
  method?: InputMaybe<Scalars['String']['input']>;
  /** At most 2,000 characters. */
  description?: InputMaybe<Scalars['String']['input']>;
  /** A JSON Schema (draft-07 or 2020-12) without remote references. */
  argsSchema?: InputMaybe<Scalars['JSON']['input']>;
  /** Stored encrypted and never answered. */
  bearerToken?: InputMaybe<Scalars['String']['input']>;
  /** The header that sends the bearer token without `Bearer`; needs `bearerToken`. */
  credentialSecretHeaderName?: InputMaybe<Scalars['String']['input']>;
  /** A map of text to text, sent on every call before the credential's header, which wins. Not for secrets. */
  extraHeaders?: InputMaybe<Scalars['JSON']['input']>;
  /** With `messagingAppSecret`: exchanged for a token of the messaging tenant at each call. */
  messagingAppId?: InputMaybe<Scalars['String']['input']>;
  /** Stored encrypted and never answered. */
  messagingAppSecret?: InputMaybe<Scalars['String']['input']>;
  /** REGION_CN or REGION_INTL, for a messaging app. Default: REGION_INTL. */
  messagingRegion?: InputMaybe<Scalars['String']['input']>;
  /** SESSION_PARTNER_A, SESSION_PARTNER_B or SESSION_PARTNER_C: the credential of the person in the conversation. */
  credentialSource?: InputMaybe<Scalars['String']['input']>;
};

/** Omitted fields are unchanged. To change the credential, create a new action. Null is refused for `name`, `url` and `method`. */
export type UpdateCustomActionInput = {
  /** The action. */
  id: Scalars['Int']['input'];
  /** See CreateCustomActionInput. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** See CreateCustomActionInput. A different value is refused for actions with a provisioned or messaging credential. */
  url?: InputMaybe<Scalars['String']['input']>;
  /** See CreateCustomActionInput. Refused in the same cases as `url`. */
  method?: InputMaybe<Scalars['String']['input']>;
  /** See CreateCustomActionInput; null clears it. */
  description?: InputMaybe<Scalars['String']['input']>;
  /** See CreateCustomActionInput; null clears it. */
  argsSchema?: InputMaybe<Scalars['JSON']['input']>;
  /** Replaces all of them; null or {} clears them. */
  extraHeaders?: InputMaybe<Scalars['JSON']['input']>;
  /** Null clears it. Refused if no bearer token is stored. */
  credentialSecretHeaderName?: InputMaybe<Scalars['String']['input']>;
  /** A SESSION_* source drops a stored credential; null turns a SESSION_* action into one without a credential, and is refused for a provisioned one. */
  credentialSource?: InputMaybe<Scalars['String']['input']>;
};

export type Query = {
  __typename?: 'Query';
  /** A connector; null if it does not exist. */
  mcpConnector?: Maybe<McpConnectorDto>;
  /** All connectors of the tenant, by id. */
  mcpConnectors: Array<McpConnectorDto>;
  /**
   * The tools of a connector, requested from its server at most every 60 s. BAD_REQUEST (`CONNECTOR_UNAUTHORIZED`) if the server refuses the
   * credential, UNAVAILABLE (`CONNECTOR_UNREACHABLE`) if it cannot be reached or does not speak MCP, NOT_FOUND for an absent connector.
   */
  listMcpTools: Array<McpToolSchemaDto>;
  /** All custom actions of the tenant, by id. */
  customActions: Array<CustomActionDto>;
  /** The operator's catalogue of operations, by key. */
  certifiedOperations: Array<CertifiedOperationDto>;
  /** The calls that were made for the tenant, newest first. BAD_REQUEST for bad bounds. */
  outboundCalls: Array<OutboundCallDto>;
};


export type QueryMcpConnectorArgs = {
  id: Scalars['Int']['input'];
};


export type QueryListMcpToolsArgs = {
  connectorId: Scalars['Int']['input'];
};


export type QueryOutboundCallsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
};

export type Mutation = {
  __typename?: 'Mutation';
  /** Makes a connector. Its server is not asked. BAD_REQUEST for a bad field. */
  createMcpConnector: McpConnectorDto;
  /** Changes a connector. NOT_FOUND for an absent one, BAD_REQUEST for a bad field. */
  updateMcpConnector: McpConnectorDto;
  /** Deletes a connector; returns true. Workflows and agents that use it fail from then on. NOT_FOUND if it does not exist. */
  deleteMcpConnector: Scalars['Boolean']['output'];
  /** Makes a custom action. BAD_REQUEST naming every bad field. */
  createCustomAction: CustomActionDto;
  /** Changes a custom action. NOT_FOUND for an absent one, BAD_REQUEST naming every bad field. */
  updateCustomAction: CustomActionDto;
  /** Deletes a custom action; true. What names it fails from then on. NOT_FOUND for an absent one. */
  deleteCustomAction: Scalars['Boolean']['output'];
};


export type MutationCreateMcpConnectorArgs = {
  input: CreateMcpConnectorInput;
};


export type MutationUpdateMcpConnectorArgs = {
  input: UpdateMcpConnectorInput;
};


export type MutationDeleteMcpConnectorArgs = {
  id: Scalars['Int']['input'];
};


export type MutationCreateCustomActionArgs = {
  input: CreateCustomActionInput;
};


export type MutationUpdateCustomActionArgs = {
  input: UpdateCustomActionInput;
};


export type MutationDeleteCustomActionArgs = {
  id: Scalars['Int']['input'];
};
