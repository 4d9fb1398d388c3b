use store::{CommitError, StoreError, memory::Fault};

use super::*;
use crate::{egress::RefusedUrl, limits, model::SubscriptionId};

const URL: &str = "https://hooks.example.com/in";

async fn create(world: &World, owner: &Owner, url: &str) -> Result<EndpointId, RegistryError> {
    let secret = SecretKey::from_entropy([1; 32]);
    world.registry.create_endpoint(owner, url, true, secret, None, T0).await.map(|made| made.record.id)
}

#[tokio::test]
async fn an_endpoint_is_registered_with_its_secret() {
    let world = World::new();
    let secret = SecretKey::from_entropy([1; 32]);
    let endpoint = world.registry.create_endpoint(&owner(), URL, false, secret.clone(), None, T0).await.unwrap().record;
    assert_eq!((endpoint.target_url.as_str(), endpoint.active, endpoint.created_at), (URL, false, T0));
    assert_eq!(endpoint.secret_key, secret);
    assert_eq!(*world.registry.endpoint(&owner(), endpoint.id).unwrap(), endpoint);
    assert!(!format!("{endpoint:?}").contains(secret.reveal()));
}

#[tokio::test]
async fn registrations_survive_a_restart() {
    let world = World::new();
    let endpoint = world.endpoint(URL).await;
    let subscription = world.subscribe(endpoint, SMILE, Event::PatientUpdated).await;
    let again = World::on(Arc::new(world.store.fork()), world.clock.clone());
    assert_eq!(again.registry.endpoints(&owner()), world.registry.endpoints(&owner()));
    assert_eq!(*again.registry.subscription(&owner(), endpoint, subscription.id).unwrap(), subscription);
    assert_eq!(again.registry.subscriptions().subscribed(SMILE, Event::PatientUpdated).len(), 1);
    let next = again.endpoint(URL).await;
    assert!(next > endpoint, "ids are not given twice");
}

#[tokio::test]
async fn addresses_inside_our_network_are_refused() {
    let world = World::new();
    for (url, why) in [
        ("http://example.com/", RefusedUrl::NotHttps),
        ("https://10.0.0.1/", RefusedUrl::NotPublic),
        ("https://169.254.169.254/latest/meta-data", RefusedUrl::NotPublic),
        ("nonsense", RefusedUrl::Invalid),
    ] {
        let refused = create(&world, &owner(), url).await;
        assert!(matches!(refused, Err(RegistryError::TargetUrl(refused)) if refused == why), "{url}: {refused:?}");
    }
    assert_eq!(world.store.commits(), 0);
}

#[tokio::test]
async fn endpoints_are_visible_to_their_owner_only() {
    let world = World::new();
    let stranger = Owner("org-2".to_owned());
    let endpoint = world.endpoint(URL).await;
    let subscription = world.subscribe(endpoint, SMILE, Event::PatientCreated).await;
    assert!(world.registry.endpoints(&stranger).is_empty());
    assert!(matches!(world.registry.endpoint(&stranger, endpoint), Err(RegistryError::NotFound)));
    assert!(matches!(world.registry.subscriptions_of(&stranger, endpoint), Err(RegistryError::NotFound)));
    assert!(matches!(world.registry.subscription(&stranger, endpoint, subscription.id), Err(RegistryError::NotFound)));
    let new = NewSubscription {
        payload: None,
        institution_id: OTHER,
        location_id: None,
        resource_type: "patient",
        event: "patient_created",
        active: true,
        api_version: "v3.0.0",
    };
    let refused = world.registry.create_subscription(&stranger, endpoint, new, None, T0).await;
    assert!(matches!(refused, Err(RegistryError::NotFound)));
    let elsewhere = world.endpoint(URL).await;
    assert!(world.registry.subscription(&owner(), elsewhere, subscription.id).is_err());
    assert!(world.registry.subscription(&owner(), endpoint, SubscriptionId(-1)).is_err());
}

#[tokio::test]
async fn an_equal_subscription_is_rejected() {
    let world = World::new();
    let endpoint = world.endpoint(URL).await;
    world.subscribe(endpoint, SMILE, Event::PatientUpdated).await;
    let again = world.try_subscribe(endpoint, SMILE, Event::PatientUpdated).await;
    assert!(matches!(again, Err(RegistryError::Duplicate { of: "institution", .. })));
    world.subscribe(endpoint, OTHER, Event::PatientUpdated).await;
    world.subscribe(endpoint, SMILE, Event::PatientCreated).await;
    world.subscribe(world.endpoint(URL).await, SMILE, Event::PatientUpdated).await;
    assert_eq!(world.registry.subscriptions_of(&owner(), endpoint).unwrap().len(), 3);
}

#[tokio::test]
async fn one_of_many_concurrent_equal_subscriptions_is_created() {
    let world = Arc::new(World::new());
    let endpoint = world.endpoint(URL).await;
    let mut attempts = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let world = world.clone();
        attempts.spawn(async move { world.try_subscribe(endpoint, SMILE, Event::ClaimCreated).await.is_ok() });
    }
    let made = attempts.join_all().await;
    assert_eq!(made.iter().filter(|made| **made).count(), 1);
}

#[tokio::test]
async fn commits_of_institutions_without_subscriptions_may_leave_out_before_images() {
    let world = World::new();
    let subscriptions = world.registry.subscriptions();
    let may = |institution| subscriptions.without_images(institution).is_some();
    assert!(may(SMILE) && may(OTHER));
    let endpoint = world.endpoint(URL).await;
    assert!(may(SMILE), "an endpoint without subscriptions");
    let subscription = world.subscribe(endpoint, SMILE, Event::PatientUpdated).await;
    assert!(!may(SMILE) && may(OTHER));
    let again = World::on(Arc::new(world.store.fork()), world.clock.clone());
    assert!(again.registry.subscriptions().without_images(SMILE).is_none(), "after a restart");
    world.registry.delete_subscription(&owner(), endpoint, subscription.id).await.unwrap();
    assert!(may(SMILE));
    world.store.fail_next_commit(Fault::Refuse(CommitError::Store(StoreError::Busy)));
    world.try_subscribe(endpoint, SMILE, Event::PatientUpdated).await.unwrap_err();
    assert!(may(SMILE), "a failed creation");
}

#[tokio::test]
async fn unknown_pairs_are_answered_with_the_known_ones() {
    let world = World::new();
    let endpoint = world.endpoint(URL).await;
    let new = NewSubscription {
        payload: None,
        institution_id: SMILE,
        location_id: None,
        resource_type: "Appointment",
        event: "appointment_eaten",
        active: true,
        api_version: "v3.0.0",
    };
    let refused = world.registry.create_subscription(&owner(), endpoint, new, None, T0).await.unwrap_err();
    assert!(refused.to_string().contains("appointment_insertion"), "{refused}");
}

#[tokio::test]
async fn one_owner_has_a_hundred_endpoints_at_most() {
    let world = World::new();
    for _ in 0..limits::MAX_ENDPOINTS_PER_OWNER {
        world.endpoint(URL).await;
    }
    let refused = create(&world, &owner(), URL).await;
    assert!(matches!(refused, Err(RegistryError::TooMany { limit: limits::MAX_ENDPOINTS_PER_OWNER, .. })));
    assert!(create(&world, &Owner("org-2".to_owned()), URL).await.is_ok());
}

#[tokio::test]
async fn a_refused_commit_leaves_memory_unchanged() {
    let world = World::new();
    let endpoint = world.endpoint(URL).await;
    world.subscribe(endpoint, OTHER, Event::ChargeCreated).await;
    world.store.fail_next_commit(Fault::Refuse(CommitError::Store(StoreError::Busy)));
    assert!(matches!(world.try_subscribe(endpoint, SMILE, Event::ChargeCreated).await, Err(RegistryError::Commit(_))));
    assert!(world.registry.subscriptions().subscribed(SMILE, Event::ChargeCreated).is_empty());
    world.subscribe(endpoint, SMILE, Event::ChargeCreated).await;
}

#[tokio::test]
async fn a_cancelled_caller_leaves_memory_and_store_consistent() {
    let world = World::new();
    let endpoint = world.endpoint(URL).await;
    world.subscribe(endpoint, OTHER, Event::ChargeCreated).await;
    {
        let mut abandoned = Box::pin(world.try_subscribe(endpoint, SMILE, Event::ChargeCreated));
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(abandoned.as_mut().poll(cx).is_ready())).await;
        assert!(!polled, "the commit is in progress");
    }
    let in_memory =
        || (!world.registry.subscriptions().subscribed(SMILE, Event::ChargeCreated).is_empty()).then_some(());
    until("memory follows the store", async || in_memory()).await;
}
