import { getDistDirectory, isSandboxFrame, renderAltair, SANDBOX_FRAME_CSP } from 'altair-static';
import express, { type RequestHandler, Router } from 'express';
import helmet from 'helmet';

const assets = '/graphql/explorer/';

/** Uses an Altair environment variable for the token; while it is empty, no credential is sent. */
const credentials = { 'x-app-platform': 'customer', authorization: 'Bearer {{accessToken}}' };

const welcome = `# Requests go to this gateway as platform "customer". Put your access token into the environment
# variable "accessToken" (top right); subscriptions use it too.

query WhoAmI {
  getAuthProfile {
    __typename
  }
}
`;

/** Runs in the page, which knows the address that it was loaded from. */
const start = `AltairGraphQL.init({
  endpointURL: location.origin + '/graphql',
  subscriptionsEndpoint: location.origin.replace(/^http/, 'ws') + '/graphql',
  initialSubscriptionRequestHandlerId: 'graphql-ws',
  ...${JSON.stringify({
    initialName: 'Parley',
    initialQuery: welcome,
    initialHeaders: credentials,
    initialSubscriptionsPayload: credentials,
    initialEnvironments: { base: { title: 'Parley', variables: { accessToken: '' } } },
    initialSettings: {
      theme: 'system',
      disablePushNotification: true,
      'alert.disableUpdateNotification': true,
      'banners.disable': true,
    },
    disableAccount: true,
  })},
});
`;

export function explorer(): Router {
  const page = renderAltair({ baseURL: assets, serveInitialOptionsInSeperateRequest: 'start.js' });
  const safe = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'self'"],
        'base-uri': ["'self'"],
        'connect-src': ["'self'", 'ws:', 'wss:'],
        'frame-ancestors': ["'none'"],
        'img-src': ["'self'", 'data:'],
        'object-src': ["'none'"],
        'font-src': ["'self'", 'data:'],
        'style-src': ["'self'", "'unsafe-inline'"],
        'worker-src': ["'self'", 'blob:'],
      },
    },
  });
  const router = Router();
  router.get('/graphql', safe, (request, response, next) => {
    // Serves the page to browsers only; any other GET is refused.
    if (request.accepts(['application/json', 'text/html']) !== 'text/html') return next();
    response.type('html').send(page);
  });
  router.get(`${assets}start.js`, (_request, response) => void response.type('js').send(start));
  router.use(assets, sandboxed, express.static(getDistDirectory(), { index: false, maxAge: '1h' }));
  return router;
}

/** Altair runs pre-request and post-request scripts in a sandboxed frame. */
const sandboxed: RequestHandler = (request, response, next) => {
  if (isSandboxFrame(request.path)) response.setHeader('content-security-policy', SANDBOX_FRAME_CSP);
  next();
};
