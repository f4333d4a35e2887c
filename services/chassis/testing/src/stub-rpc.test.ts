import {
  AgentServiceDefinition,
  type AgentServiceImplementation,
  DescribeModelRequest,
  GetAgentRequest,
} from '@parley/protos/parley/agent/v1/agent';
import test from 'ava';
import { stubRpc } from './stub-rpc.ts';

test('a stub answers the given methods, and the error for any other method names it', async (t) => {
  const agent: AgentServiceImplementation = stubRpc(AgentServiceDefinition, {
    getAgent: async ({ agentId }) => ({ agent: { id: agentId } }),
  });
  const context = {} as Parameters<typeof agent.getAgent>[1];
  t.deepEqual(await agent.getAgent(GetAgentRequest.fromPartial({ agentId: 3 }), context), { agent: { id: 3 } });
  t.throws(() => agent.describeModel(DescribeModelRequest.fromPartial({}), context), {
    message: 'no test answers parley.agent.v1.AgentService/DescribeModel',
  });
});
