// The addresses of the console and what each shows.
import { Suspense } from 'react'
import { Link, Route, Switch } from 'wouter'
import { later } from '../later.ts'
import { Account } from './account.tsx'
import { AccessPage, CataloguePage, GpusPage, NetworksPage, PlatformPage } from './area-lists.tsx'
import { ConsoleHealth } from './console-health.tsx'
import { ChainPage, TimelinePage } from './timeline.tsx'
import { JobPage, JobsPage } from './jobs.tsx'
import { ListPage, ListsPage } from './lists.tsx'
import { MachinesPage } from './machines.tsx'
import { NodesPage } from './nodes.tsx'
import { OperationPage, OperationsPage } from './operations.tsx'
import { Overview } from './overview.tsx'

const AddressesPage = later(() => import('./addresses.tsx').then((file) => file.AddressesPage))
const AlertsPage = later(() => import('./alerts.tsx').then((file) => file.AlertsPage))
const FabricPage = later(() => import('./fabric.tsx').then((file) => file.FabricPage))
const HaPage = later(() => import('./ha.tsx').then((file) => file.HaPage))
const MachinePage = later(() => import('./machine.tsx').then((file) => file.MachinePage))
const MtuPage = later(() => import('./mtu.tsx').then((file) => file.MtuPage))
const HostPage = later(() => import('./hosts.tsx').then((file) => file.HostPage))
const HostsPage = later(() => import('./hosts.tsx').then((file) => file.HostsPage))
const TenantPage = later(() => import('./tenants.tsx').then((file) => file.TenantPage))
const TenantsPage = later(() => import('./tenants.tsx').then((file) => file.TenantsPage))
const CameraPage = later(() => import('./camera/camera.tsx').then((file) => file.CameraPage))
const CamerasPage = later(() => import('./camera/cameras.tsx').then((file) => file.CamerasPage))
const HelpPage = later(() => import('./help.tsx').then((file) => file.HelpPage))
const NodePage = later(() => import('./node/node-page.tsx').then((file) => file.NodePage))
const ProvisionPage = later(() => import('./provision.tsx').then((file) => file.ProvisionPage))
const StoragePage = later(() => import('./storage.tsx').then((file) => file.StoragePage))

export function Pages() {
  return (
    <Suspense fallback={<p className="waiting">Loading …</p>}>
      <Switch>
        <Route path="/" component={Overview} />
        <Route path="/timeline" component={TimelinePage} />
        <Route path="/timeline/:id">{({ id }) => <ChainPage id={id} />}</Route>
        <Route path="/jobs" component={JobsPage} />
        <Route path="/jobs/:id">{({ id }) => <JobPage id={id} />}</Route>
        <Route path="/vms" component={MachinesPage} />
        <Route path="/vms/new" component={ProvisionPage} />
        <Route path="/vms/:id/:tab?">{({ id, tab }) => <MachinePage id={id} tab={tab} />}</Route>
        <Route path="/nodes" component={NodesPage} />
        <Route path="/nodes/:bmc/:part?">
          {({ bmc, part }) => <NodePage bmc={decodeURIComponent(bmc)} part={part} />}
        </Route>
        <Route path="/addresses/:part?">{({ part }) => <AddressesPage part={part} />}</Route>
        <Route path="/networks/:part?">{({ part }) => <NetworksPage part={part} />}</Route>
        <Route path="/catalog/:part?">{({ part }) => <CataloguePage part={part} />}</Route>
        <Route path="/gpus/:part?">{({ part }) => <GpusPage part={part} />}</Route>
        <Route path="/storage/:part?">{({ part }) => <StoragePage part={part} />}</Route>
        <Route path="/access/:part?">{({ part }) => <AccessPage part={part} />}</Route>
        <Route path="/platform/:part?">{({ part }) => <PlatformPage part={part} />}</Route>
        <Route path="/hosts" component={HostsPage} />
        <Route path="/hosts/:id">{({ id }) => <HostPage key={id} id={id} />}</Route>
        <Route path="/tenants" component={TenantsPage} />
        <Route path="/tenants/:id">{({ id }) => <TenantPage key={id} id={id} />}</Route>
        <Route path="/help/:part?">{({ part }) => <HelpPage part={part} />}</Route>
        <Route path="/mtu" component={MtuPage} />
        <Route path="/fabric" component={FabricPage} />
        <Route path="/alerts" component={AlertsPage} />
        <Route path="/ha" component={HaPage} />
        <Route path="/cameras/:part?">{({ part }) => <CamerasPage part={part} />}</Route>
        <Route path="/camera/:id">{({ id }) => <CameraPage id={decodeURIComponent(id)} />}</Route>
        <Route path="/lists" component={ListsPage} />
        <Route path="/lists/:operation">{({ operation }) => <ListPage operation={operation} />}</Route>
        <Route path="/operations" component={OperationsPage} />
        <Route path="/operations/:operation">{({ operation }) => <OperationPage operation={operation} />}</Route>
        <Route path="/me" component={Account} />
        <Route path="/me/health" component={ConsoleHealth} />
        <Route>
          <h1>Not found</h1>
          <p>
            There is no such page. <Link href="/">Go to the overview</Link>
          </p>
        </Route>
      </Switch>
    </Suspense>
  )
}
