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

/** A server of tools that speaks the Model Context Protocol (MCP) over Streamable HTTP. Its credential is never returned. */
export type McpConnectorDto = {
  __typename?: 'McpConnectorDto';
  /** The connector's id. All ids are positive. */
  id: Scalars['Int']['output'];
  /** The connector's name: at most 200 characters, not necessarily unique. */
  name: Scalars['String']['output'];
  /** The server's MCP endpoint. */
  serverUrl: Scalars['String']['output'];
  /** Time at which the connector was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A tool, as the connector's server describes it. */
export type McpToolSchemaDto = {
  __typename?: 'McpToolSchemaDto';
  /** The tool's name. */
  name: Scalars['String']['output'];
  /** Description of the tool; null if the server gives none. */
  description?: Maybe<Scalars['String']['output']>;
  /** JSON Schema of the arguments; null if the server gives none. */
  inputSchema?: Maybe<Scalars['JSON']['output']>;
  /** Time at which the server first listed another schema for this tool than at the first listing; null if this never happened. */
  changedAt?: Maybe<Scalars['DateTime']['output']>;
};

/** A REST call that agents and workflows can make. Its credential is never returned. */
export type CustomActionDto = {
  __typename?: 'CustomActionDto';
  /** The action's id. */
  id: Scalars['Int']['output'];
  /** The action's name: at most 200 characters, not necessarily unique. */
  name: Scalars['String']['output'];
  /** Description for people and models; null if there is none. */
  description?: Maybe<Scalars['String']['output']>;
  /** The endpoint. `{name}` in its path or query is replaced by the argument of that name. */
  url: Scalars['String']['output'];
  /** The HTTP method: GET, POST, PUT, PATCH or DELETE. */
  method: Scalars['String']['output'];
  /** The JSON Schema of the arguments (draft-07 or 2020-12); null: any object. */
  argsSchema?: Maybe<Scalars['JSON']['output']>;
  /** Headers that are sent on every call, as an object of strings. They are returned as stored, so they must not contain secrets. */
  extraHeaders?: Maybe<Scalars['JSON']['output']>;
  /** Name of the header that contains the bare token, without the prefix `Bearer`. Null: the header is `Authorization: Bearer <token>`. */
  credentialSecretHeaderName?: Maybe<Scalars['String']['output']>;
  /**
   * Source of the credential: MESSAGING_TENANT, PARTNER_A, PARTNER_B, PARTNER_C, SESSION_PARTNER_A, SESSION_PARTNER_B or SESSION_PARTNER_C.
   * Null if the action has a bearer token or no credential.
   */
  credentialSource?: Maybe<Scalars['String']['output']>;
  /** Time at which the action was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** An operation of a partner's API that the operator has certified: a template for a custom action. */
export type CertifiedOperationDto = {
  __typename?: 'CertifiedOperationDto';
  /** The operation's key in the catalogue. */
  key: Scalars['String']['output'];
  /** The operation's name. */
  name: Scalars['String']['output'];
  /** Description; null if there is none. */
  description?: Maybe<Scalars['String']['output']>;
  /** The HTTP method: GET, POST, PUT, PATCH or DELETE. */
  method: Scalars['String']['output'];
  /** The endpoint, in the format of an action's `url`. */
  url: Scalars['String']['output'];
  /** The JSON Schema of the arguments; null: any object. */
  argsSchema?: Maybe<Scalars['JSON']['output']>;
  /** The credential sources that the operation supports. */
  compatibleCredentialSources: Array<Scalars['String']['output']>;
};

/** Kind of the call. */
export type OutboundCallKind =
  /** A call of a connector's tool. */
  | 'TOOL'
  /** A request to a connector for the list of its tools. */
  | 'TOOL_LIST'
  /** A call of a custom action. */
  | 'ACTION';

/** The record of one call that was made for the tenant. It does not contain the content of request and response. Kept for 30 days. */
export type OutboundCallDto = {
  __typename?: 'OutboundCallDto';
  /** The call's id. */
  id: Scalars['Int']['output'];
  /** Time at which the call began. */
  at: Scalars['DateTime']['output'];
  /** Kind of the call. */
  kind: OutboundCallKind;
  /** Id of the connector or action, which may be deleted. */
  target: Scalars['Int']['output'];
  /** Name of the tool or action; for TOOL_LIST the name of the connector. */
  name: Scalars['String']['output'];
  /** HTTP status of the response; null if there was none. */
  status?: Maybe<Scalars['Int']['output']>;
  /** Duration in milliseconds. */
  durationMs: Scalars['Int']['output'];
  /** Number of bytes of the response that were read. */
  bytes: Scalars['Int']['output'];
  /** Error kind of a failed call; null if it succeeded. */
  errorKind?: Maybe<Scalars['String']['output']>;
};

/** A new connector. Lengths count Unicode code points. */
export type CreateMcpConnectorInput = {
  /** The name: at most 200 characters, not blank. */
  name: Scalars['String']['input'];
  /** The server's MCP endpoint: http or https, at most 2,000 characters, with a host that has a public address. */
  serverUrl: Scalars['String']['input'];
  /** The server's API key, which is sent as a bearer token; at most 4,096 characters. Stored encrypted and never returned. */
  apiKey: Scalars['String']['input'];
};

/** Changes of a connector. Omitted fields are unchanged. To change the credential, create a new connector. */
export type UpdateMcpConnectorInput = {
  /** The connector. */
  id: Scalars['Int']['input'];
  /** See CreateMcpConnectorInput; null is refused. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** See CreateMcpConnectorInput; null is refused. */
  serverUrl?: InputMaybe<Scalars['String']['input']>;
};

/**
 * A new action, with at most one kind of credential: `bearerToken`, the pair `messagingAppId` and `messagingAppSecret`, or a
 * `credentialSource`. Lengths count Unicode code points.
 */
export type CreateCustomActionInput = {
  /** The name: at most 200 characters, not blank. */
  name: Scalars['String']['input'];
  /**
   * The endpoint: http or https, at most 2,000 characters; the host must have a public address. `{name}` in the path or query stands for the
   * argument `name`.
   */
  url: Scalars['String']['input'];
  /** The HTTP method: GET, POST, PUT, PATCH or DELETE. Default: POST. */
  method?: InputMaybe<Scalars['String']['input']>;
  /** The description: at most 2,000 characters. */
  description?: InputMaybe<Scalars['String']['input']>;
  /** The JSON Schema of the arguments (draft-07 or 2020-12), without remote references. */
  argsSchema?: InputMaybe<Scalars['JSON']['input']>;
  /** A bearer token. Stored encrypted and never returned. */
  bearerToken?: InputMaybe<Scalars['String']['input']>;
  /**
   * Name of the header in which the bare token is sent, without the prefix `Bearer`. Requires `bearerToken`. If null, the header is
   * `Authorization: Bearer <token>`.
   */
  credentialSecretHeaderName?: InputMaybe<Scalars['String']['input']>;
  /** Headers that are sent on every call, as an object of strings. The credential's header overrides them. They must not contain secrets. */
  extraHeaders?: InputMaybe<Scalars['JSON']['input']>;
  /** The id of a messaging app, with `messagingAppSecret`. At each call, both are exchanged for a token of the messaging tenant. */
  messagingAppId?: InputMaybe<Scalars['String']['input']>;
  /** The secret of the messaging app. Stored encrypted and never returned. */
  messagingAppSecret?: InputMaybe<Scalars['String']['input']>;
  /** The region of the messaging app: REGION_CN or REGION_INTL. Default: REGION_INTL. */
  messagingRegion?: InputMaybe<Scalars['String']['input']>;
  /** SESSION_PARTNER_A, SESSION_PARTNER_B or SESSION_PARTNER_C: the credential of the person in the conversation. */
  credentialSource?: InputMaybe<Scalars['String']['input']>;
};

/**
 * Changes of an action. Omitted fields are unchanged. To change the credential, create a new action. Null is refused for `name`, `url` and
 * `method`.
 */
export type UpdateCustomActionInput = {
  /** The action. */
  id: Scalars['Int']['input'];
  /** See CreateCustomActionInput. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** See CreateCustomActionInput. A different value is refused if `credentialSource` is MESSAGING_TENANT or PARTNER_*. */
  url?: InputMaybe<Scalars['String']['input']>;
  /** See CreateCustomActionInput. Refused in the same cases as `url`. */
  method?: InputMaybe<Scalars['String']['input']>;
  /** See CreateCustomActionInput; null clears it. */
  description?: InputMaybe<Scalars['String']['input']>;
  /** See CreateCustomActionInput; null clears it. */
  argsSchema?: InputMaybe<Scalars['JSON']['input']>;
  /** Replaces all extra headers; null or {} clears them. */
  extraHeaders?: InputMaybe<Scalars['JSON']['input']>;
  /** Null clears the header. Refused if no bearer token is stored. */
  credentialSecretHeaderName?: InputMaybe<Scalars['String']['input']>;
  /**
   * A SESSION_* source removes a stored credential. Null removes a SESSION_* source, so that the action has no credential; null is refused if
   * the source is MESSAGING_TENANT or PARTNER_*.
   */
  credentialSource?: InputMaybe<Scalars['String']['input']>;
};

export type Query = {
  __typename?: 'Query';
  /** A connector; null if it does not exist. */
  mcpConnector?: Maybe<McpConnectorDto>;
  /** All connectors of the tenant, ordered by id. */
  mcpConnectors: Array<McpConnectorDto>;
  /**
   * The tools of a connector. They are requested from the connector's server at most once in 60 s. BAD_REQUEST (`CONNECTOR_UNAUTHORIZED`): the
   * server refuses the credential. UNAVAILABLE (`CONNECTOR_UNREACHABLE`): the server cannot be reached or does not speak MCP. NOT_FOUND: the
   * connector does not exist.
   */
  listMcpTools: Array<McpToolSchemaDto>;
  /** All custom actions of the tenant, ordered by id. */
  customActions: Array<CustomActionDto>;
  /** The operator's catalogue of operations, ordered by key. */
  certifiedOperations: Array<CertifiedOperationDto>;
  /** The calls that were made for the tenant, newest first. BAD_REQUEST for an invalid `first` or `after`. */
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
  /** Creates a connector. The connector's server is not called. BAD_REQUEST for an invalid field. */
  createMcpConnector: McpConnectorDto;
  /** Changes a connector. NOT_FOUND if it does not exist, BAD_REQUEST for an invalid field. */
  updateMcpConnector: McpConnectorDto;
  /** Deletes a connector; returns true. Models no longer get its tools, and workflow nodes that call them fail. NOT_FOUND if it does not exist. */
  deleteMcpConnector: Scalars['Boolean']['output'];
  /** Creates a custom action. BAD_REQUEST names every invalid field. */
  createCustomAction: CustomActionDto;
  /** Changes a custom action. NOT_FOUND if it does not exist; BAD_REQUEST names every invalid field. */
  updateCustomAction: CustomActionDto;
  /** Deletes a custom action; returns true. Models no longer get it, and workflow nodes that call it fail. NOT_FOUND if it does not exist. */
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
