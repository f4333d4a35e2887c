import type { RequestListener } from 'node:http';
import type { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import type { RequestSource } from '@parley/kernel/http/client-address';
import { clientNetwork } from '@parley/kernel/http/client-network';
import type { RequestScheduler } from '@parley/kernel/queues/request-scheduler';
import type { Logger } from '@parley/kernel/telemetry/log';
import cors from 'cors';
import express, { type RequestHandler } from 'express';
import helmet from 'helmet';
import type { GatewayConfig } from '../config.ts';
import type { AccessTokens } from '../credentials/access-tokens.ts';
import { readCredentials } from '../credentials/credentials.ts';
import type { Documents, ReadDocument } from '../graph/documents.ts';
import { type FieldRules, longOperations } from '../graph/field-rules.ts';
import type { GatewayContext } from '../graph/gateway-context.ts';
import { requestBodies } from './bodies.ts';
import { clientConnection } from './client-connection.ts';
import { requestAdmission } from './connections.ts';
import { failedRequests, hostNamed, oneOperation, postOnly, refuse } from './http-rules.ts';
import { type RequestFacts, requestLog } from './request-log.ts';
import { limitUnreadResponses } from './unread-responses.ts';

export interface HttpAppOptions {
  config: GatewayConfig;
  apollo: ApolloServer<GatewayContext>;
  rules: FieldRules;
  accessTokens: AccessTokens;
  documents: Pick<Documents, 'read'>;
  clientIp: (request: RequestSource) => string;
  scheduler: RequestScheduler;
  log: Logger;
}

export function httpApp(options: HttpAppOptions): RequestListener {
  const { config, apollo, rules, accessTokens, documents, clientIp, scheduler, log } = options;
  const clientOf = (request: RequestSource) => clientNetwork(clientIp(request));
  const admission = requestAdmission(config, clientOf, scheduler);
  const app = express().disable('x-powered-by').disable('etag');
  app.use(helmet());
  app.use(
    cors({ origin: config.corsOrigins.includes('*') ? '*' : config.corsOrigins, exposedHeaders, maxAge: 86_400 }),
  );
  app.use(hostNamed());
  app.use(admission.refuseTooMany, limitUnreadResponses(config, clientOf));

  app.get('/.well-known/jwks.json', async (_request, response) => {
    const jwks = await accessTokens.jwks();
    response.setHeader('cache-control', 'public, max-age=300').json(jwks);
  });

  if (config.explorer) app.get(/^\/graphql(\/explorer\/|$)/u, explorer());
  const bodies = requestBodies(config, longOperations(rules), clientOf);
  app.all(
    '/graphql',
    postOnly(),
    bodies.receive,
    admission.resume,
    bodies.parse,
    oneOperation(),
    readDocument(documents, config.maxBodyBytes),
    expressMiddleware(apollo, {
      context: async ({ req, res }): Promise<GatewayContext> => ({
        caller: { kind: 'anonymous', tenantId: null, ip: clientIp(req), requestId: res.locals.requestId as string },
        credentials: readCredentials(req.headers),
        idempotencyKeys: req.headersDistinct['idempotency-key'] ?? [],
        client: clientOf(req),
        connection: clientConnection(res),
        bodyBytes: bodies.bytesOf(req),
        read: res.locals.read as ReadDocument | undefined,
        facts: res.locals.facts as RequestFacts,
        answer: { remainingBytes: config.maxAnswerBytes, parts: 0 },
      }),
    }),
  );
  app.use((_request, response) => refuse(response, 404, 'There is nothing here; GraphQL is at /graphql', 'NOT_FOUND'));
  app.use(failedRequests(log));
  const logged = requestLog(log); // includes requests whose client disconnects while they are queued
  return (request, response) =>
    logged(request, response, () => admission.admit(request, response, () => app(request, response)));
}

/** Loads the explorer at the first request for it, because its package takes longer to load than most of a gateway. */
function explorer(): RequestHandler {
  let loading: Promise<RequestHandler> | undefined;
  return (request, response, next) => {
    loading ??= import('./explorer.ts').then((loaded) => loaded.explorer());
    loading.then((serve) => serve(request, response, next), next);
  };
}

const exposedHeaders = ['x-request-id', 'retry-after', 'ratelimit', 'ratelimit-policy'];

/** Checks the document's limits before Apollo Server parses it. Long texts belong in variables, which need no lexing. */
function readDocument(documents: Pick<Documents, 'read'>, maxBytes: number): RequestHandler {
  return (request, response, next) => {
    const { query }: { query?: unknown } = request.body;
    if (typeof query !== 'string' || query === '') {
      return refuse(response, 400, 'The body must hold an operation as query; persisted queries are not kept');
    }
    if (Buffer.byteLength(query) > maxBytes) {
      const message = `The text of query is larger than ${maxBytes} bytes; send what is long as variables`;
      return refuse(response, 413, message);
    }
    const read = documents.read(query);
    if (Array.isArray(read)) return void response.status(400).json({ errors: read });
    response.locals.read = read;
    next();
  };
}
