import { configOptions } from '../agents/catalogue.ts';
import { createAgent } from '../agents/create-agent.ts';
import { deleteAgent } from '../agents/delete-agent.ts';
import { countAgents, findAgent, listAgents, listAuditLogs } from '../agents/read-agents.ts';
import { updateAgent } from '../agents/update-agent.ts';
import { testLlmProvider } from '../model-choice/test-llm-provider.ts';
import { generateText } from '../text-generations/generate-text.ts';
import { startTextGeneration } from '../text-generations/start-text-generation.ts';
import { definitionSchema } from '../workflow/check-shape.ts';
import { listWorkflowRuns } from '../workflow-runs/list-workflow-runs.ts';
import { runWorkflowTask } from '../workflow-runs/run-workflow-task.ts';
import { toTraceStep } from '../workflow-runs/trace-step.ts';
import { aiGenerateWorkflow } from '../workflows/ai-generate-workflow.ts';
import { compareWorkflowVersions } from '../workflows/compare-workflow-versions.ts';
import { createWorkflow } from '../workflows/create-workflow.ts';
import { deleteWorkflow } from '../workflows/delete-workflow.ts';
import { generateWorkflowDiff } from '../workflows/generate-workflow-diff.ts';
import { publishWorkflow } from '../workflows/publish-workflow.ts';
import { findWorkflow, listWorkflows, listWorkflowVersions } from '../workflows/read-workflows.ts';
import { restoreWorkflowVersion } from '../workflows/restore-workflow-version.ts';
import { updateWorkflow } from '../workflows/update-workflow.ts';
import { validateWorkflow } from '../workflows/validate-workflow.ts';
import type { Resolvers } from './generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: {
    agent: (_, { id }, { ports, tenantRequest }, info) => findAgent(ports, tenantRequest(info), id),
    agents: (_, page, { ports, answer, tenantRequest }, info) =>
      listAgents(answer.reading(ports, info), tenantRequest(info), page),
    agentCount: (_, __, { ports, tenantRequest }, info) => countAgents(ports, tenantRequest(info)),
    agentConfigOptions: (_, __, { ports, tenantRequest }, info) => configOptions(ports, tenantRequest(info)),
    agentAuditLogs: (_, { id }, { ports, answer, tenantRequest }, info) =>
      listAuditLogs(answer.reading(ports, info), tenantRequest(info), id),
    workflowRuns: (_, query, { ports, answer, tenantRequest }, info) =>
      listWorkflowRuns(answer.reading(ports, info), tenantRequest(info), query),
    generateText: (_, { input }, { ports, tenantRequest }, info) => generateText(ports, tenantRequest(info), input),
    workflow: async (_, { id }, { ports, tenantRequest }, info) =>
      (await findWorkflow(ports, tenantRequest(info), id)) ?? null,
    workflows: (_, __, { ports, answer, tenantRequest }, info) =>
      listWorkflows(answer.reading(ports, info), tenantRequest(info)),
    workflowVersions: (_, { workflowId }, { ports, answer, tenantRequest }, info) =>
      listWorkflowVersions(answer.reading(ports, info), tenantRequest(info), workflowId),
    compareWorkflowVersions: (_, args, { ports, tenantRequest }, info) =>
      compareWorkflowVersions(ports, tenantRequest(info), args),
    validateWorkflow: (_, { definition }, { ports, tenantRequest }, info) =>
      validateWorkflow(ports, tenantRequest(info), definition),
    workflowDefinitionSchema: (_, __, { tenantRequest }, info) => {
      tenantRequest(info); // The options are the same for all tenants, but a caller without a tenant is refused.
      return definitionSchema;
    },
  },
  Mutation: {
    createAgent: (_, { input }, { ports, tenantRequest }, info) => createAgent(ports, tenantRequest(info), input),
    updateAgent: (_, args, { ports, tenantRequest }, info) => updateAgent(ports, tenantRequest(info), args),
    deleteAgent: (_, { id }, { ports, tenantRequest }, info) => deleteAgent(ports, tenantRequest(info), id),
    createWorkflow: (_, { input }, { ports, tenantRequest }, info) => createWorkflow(ports, tenantRequest(info), input),
    updateWorkflow: (_, args, { ports, tenantRequest }, info) => updateWorkflow(ports, tenantRequest(info), args),
    publishWorkflow: (_, { id }, { ports, tenantRequest }, info) => publishWorkflow(ports, tenantRequest(info), id),
    restoreWorkflowVersion: (_, args, { ports, tenantRequest }, info) =>
      restoreWorkflowVersion(ports, tenantRequest(info), args),
    deleteWorkflow: (_, { id }, { ports, tenantRequest }, info) => deleteWorkflow(ports, tenantRequest(info), id),
    aiGenerateWorkflow: (_, { input }, { ports, tenantRequest }, info) =>
      aiGenerateWorkflow(ports, tenantRequest(info), input),
    generateWorkflowDiff: (_, { input }, { ports, tenantRequest }, info) =>
      generateWorkflowDiff(ports, tenantRequest(info), input),
    startTextGeneration: (_, { input }, { ports, tenantRequest }, info) =>
      startTextGeneration(ports, tenantRequest(info), input),
    runWorkflowTask: (_, { input }, { ports, tenantRequest }, info) =>
      runWorkflowTask(ports, tenantRequest(info), input),
    testLlmProvider: (_, { input }, { ports, tenantRequest }, info) =>
      testLlmProvider(ports, tenantRequest(info), input),
  },
  AgentDto: {
    __resolveReference: ({ id }, { agentOf }, info) => agentOf(info, id),
    tools: ({ tools }) => tools ?? [],
  },
  WorkflowRunDto: {
    trace: ({ trace }) => trace.map(toTraceStep),
  },
  AuditLogDto: {
    auditableType: () => 'Agent',
    auditableId: ({ agentId }) => agentId,
  },
};
