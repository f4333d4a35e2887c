import type { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import { context as otel, SpanKind, trace } from '@opentelemetry/api';
import type { Logger } from '@parley/chassis/log';
import { withRequestId } from '@parley/chassis/request-context';
import cors from 'cors';
import express, { type Express, type Request } from 'express';
import helmet from 'helmet';
import type { GatewayConfig } from '../config.ts';
import type { AccessTokens } from '../credentials/access-tokens.ts';
import { presentedIn } from '../credentials/presented.ts';
import type { GatewayContext } from '../graph/gateway-context.ts';
import { failedRequests, oneOperation, postOnly, refuse } from './http-rules.ts';
import { requestIdFrom } from './request-id.ts';

export interface HttpAppOptions {
  config: GatewayConfig;
  apollo: ApolloServer<GatewayContext>;
  accessTokens: AccessTokens;
  log: Logger;
}

/** What the gateway answers over HTTP: GraphQL at `/graphql`, and the key set of access tokens. */
export function httpApp({ config, apollo, accessTokens, log }: HttpAppOptions): Express {
  const tracer = trace.getTracer('parley.gateway');
  const app = express().disable('x-powered-by').disable('etag').set('trust proxy', config.trustedProxies);
  app.use(helmet());
  app.use(
    cors({ origin: config.corsOrigins.includes('*') ? '*' : config.corsOrigins, exposedHeaders, maxAge: 86_400 }),
  );
  app.use((request, response, next) => {
    const requestId = requestIdFrom(request.header('x-request-id'));
    response.locals.requestId = requestId;
    response.setHeader('x-request-id', requestId);
    // A trace begins here: what an outsider sends as its parent is not believed to be one of ours.
    const span = tracer.startSpan('gateway request', { kind: SpanKind.SERVER, root: true });
    response.once('close', () => span.end());
    otel.with(trace.setSpan(otel.active(), span), () => withRequestId(requestId, next));
  });

  app.get('/.well-known/jwks.json', async (_request, response) => {
    const jwks = await accessTokens.jwks();
    response.setHeader('cache-control', 'public, max-age=300').json(jwks);
  });

  const bodyBytes = new WeakMap<object, number>();
  app.all(
    '/graphql',
    postOnly(),
    express.json({
      limit: config.maxLongBodyBytes,
      strict: false,
      verify: (request, _response, buffer) => void bodyBytes.set(request, buffer.length),
    }),
    oneOperation(),
    expressMiddleware(apollo, {
      context: async ({ req, res }): Promise<GatewayContext> => ({
        caller: { kind: 'anonymous', tenantId: null, ip: clientIp(req), requestId: res.locals.requestId as string },
        presented: presentedIn(req.headers),
        bodyBytes: bodyBytes.get(req) ?? 0,
      }),
    }),
  );
  app.use((_request, response) => refuse(response, 404, 'There is nothing here; GraphQL is at /graphql', 'NOT_FOUND'));
  app.use(failedRequests(log));
  return app;
}

const exposedHeaders = ['x-request-id', 'retry-after', 'ratelimit', 'ratelimit-policy'];

function clientIp(request: Request): string {
  return request.ip ?? request.socket.remoteAddress ?? '';
}
